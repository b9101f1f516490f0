package verdict

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime/trace"
	"strings"
	"time"

	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// Verdict says what makes the slowest 1% of the requests slower than the median request. It does
// not change, so any goroutine may read it.
type Verdict struct {
	Sentence string // what to mend and why
	Fix      string // the edit that usually mends it, at its line, or ""
	// Named means that the excess is worth mending, and that its first cause is certain. The
	// excess is then at least 1 ms, and as long as the median request.
	Named  bool
	Causes []Cause // the largest first

	all *verdict.Verdict
}

// Cause is a cause with its part of the excess. A text that is not known is "".
type Cause struct {
	Cause  reqtrace.Cause
	Share  float64       // of the excess, 0 to 1
	Excess time.Duration // more than in the median request, on average
	Site   string        // function (file:line) that waits
	Holder string        // function (file:line) that holds what requests wait for
	Guide  string        // a row of the guide, such as docs/explain.md#mutex
}

// Of returns the verdict on a report. Do not change the report afterwards.
func Of(r *reqtrace.Report) *Verdict {
	all := verdict.Of(r)
	v := &Verdict{Sentence: all.Sentence, Fix: all.Fix, Named: all.Named, all: all}
	for _, c := range all.Causes {
		v.Causes = append(v.Causes, Cause{c.Cause, c.Share, c.Excess, c.Site, c.Holder, c.Guide})
	}
	return v
}

// String returns the sentence, its figures and tables, as evenkeel explain prints them.
func (v *Verdict) String() string {
	if v.all == nil {
		return v.Sentence
	}
	var b strings.Builder
	_ = v.all.WriteText(&b, verdict.Options{}) // a Builder does not fail
	return b.String()
}

// During takes an execution trace of this process while f runs, and returns the verdict on the
// requests in it. Use it in tests that serve requests, such as with net/http/httptest. It returns
// an error if another trace is under way. The trace is kept in memory.
//
// The race detector and a busy machine make requests slow for other causes. So plant a wait that
// is many times as long as a request. Assert on its cause and place, and not on times.
func During(ctx context.Context, o reqtrace.Options, f func()) (*Verdict, error) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		return nil, fmt.Errorf("verdict: cannot trace: %w; end the other trace first (go test -trace takes one, "+
			"too)", err)
	}
	func() {
		watch, _ := cpuwatch.Start(os.Getpid(), true) // without the quota, the threads' counts remain
		defer func() {                                // also if f panics or ends the test
			trace.Stop()
			if cpu := watch.End(); o.Beside == nil {
				o.Beside = &cpuwatch.Beside{CPU: cpu}
			}
		}()
		f()
	}()
	r, err := reqtrace.Analyze(ctx, &b, o)
	if err != nil {
		return nil, err
	}
	return Of(r), nil
}
