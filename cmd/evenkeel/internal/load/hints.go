package load

import (
	"flag"
	"fmt"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

// Hints say where a flag probably has its meaning in hey, wrk or vegeta.
func (l *Flags) Hints(fs *flag.FlagSet) (list []string) {
	if _, err := time.ParseDuration(l.body); err == nil {
		list = append(list, fmt.Sprintf("-d %s is the body of each request; -z %s loads for so long, as wrk's -d does",
			l.body, l.body))
		if cli.Given(fs, "t") {
			list = append(list, fmt.Sprintf("-t %v is the timeout of one request; wrk's -t is not needed here",
				l.options.Timeout))
		}
	}
	if l.fewer > 0 {
		list = append(list, fmt.Sprintf("at most %d connections instead of %d; ulimit -n raises this",
			l.fewer, defaultOpen))
	}
	if l.Output == "csv" {
		list = append(list, "-o csv writes a run to a file named csv; evenkeel convert -to csv makes CSV of a run")
	}
	return list
}
