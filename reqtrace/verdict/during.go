package verdict

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime/trace"

	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/reqtrace"
)

// During takes an execution trace of this process while f runs, and passes the verdict on the
// requests in it. Use it in tests that serve requests, such as with net/http/httptest. It returns
// an error if another trace is under way. The trace is kept in memory.
//
// The race detector and a busy machine make requests slow for other causes. So plant a wait that
// is many times as long as a request. Assert on its cause and place, and not on times.
func During(ctx context.Context, o reqtrace.Options, f func()) (*Verdict, error) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		return nil, fmt.Errorf("verdict: During cannot trace: %w; end the other trace first (go test -trace takes one, too)", err)
	}
	func() {
		watch, _ := cpuwatch.Start(os.Getpid(), true) // without the quota, the threads' counts remain
		defer func() {                                // also if f panics or ends the test
			trace.Stop()
			if cpu := watch.End(); o.Beside == nil {
				o.Beside = &reqtrace.Beside{CPU: cpu}
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
