package exchange

import (
	"fmt"
	"io"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

// writeCSV writes each bucket in use with its longest latency, its count, the count up to it, and
// the share of that.
func writeCSV(w io.Writer, run *runfile.Run) error {
	if _, err := fmt.Fprintln(w, "latency_ns,count,cumulative,quantile"); err != nil {
		return err
	}
	sum, total := int64(0), run.Load.Latency.Count()
	for d, n := range run.Load.Latency.All() {
		sum += n
		if _, err := fmt.Fprintf(w, "%d,%d,%d,%.9g\n", int64(d), n, sum, float64(sum)/float64(total)); err != nil {
			return err
		}
	}
	return nil
}
