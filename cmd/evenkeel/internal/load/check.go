package load

import (
	"errors"
	"fmt"
	"slices"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// CheckRuns returns an error if the runs measured nothing useful.
func CheckRuns(f *runfile.File) error {
	for _, r := range f.Runs {
		switch {
		case r.Load.Interrupted:
			return cli.ErrInterrupted
		case r.Load.FailedBy(loadgen.ClassGenerator) > 0:
			return generatorLimit(r.Load)
		case r.Load.Answered == 0 && len(r.Load.Failures) > 0:
			return fmt.Errorf("no request was answered: %s", r.Load.Failures[0].Example)
		case r.Load.Answered == 0:
			return errors.New("no request was answered")
		case !anyGood(r.Load):
			return fmt.Errorf("none of %s answers had a status of 2xx or 3xx; check the URL, the method and the scheme",
				textfmt.Count(float64(r.Load.Answered)))
		}
	}
	return nil
}

// ErrGenerator means that the load generator was at its own limit.
var ErrGenerator = errors.New("the load generator is at its own limit, and not the service")

func generatorLimit(l *loadgen.Result) error {
	i := slices.IndexFunc(l.Failures, func(f loadgen.Failure) bool { return f.Class == loadgen.ClassGenerator })
	return fmt.Errorf("%w: %s of %s requests failed here (%s); raise ulimit -n, lower -c, or use -share",
		ErrGenerator, textfmt.Count(float64(l.Failures[i].Count)), textfmt.Count(float64(l.Requests())),
		l.Failures[i].Example)
}

func anyGood(l *loadgen.Result) bool {
	for status := range l.Statuses {
		if status >= 200 && status < 400 {
			return true
		}
	}
	return false
}
