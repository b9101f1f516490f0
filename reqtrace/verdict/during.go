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
// requests in it. Use it in tests that serve requests themselves, such as with net/http/httptest,
// and that assert why the slowest were slow. A process has one trace at a time. So During returns
// an error if another trace is under way, and tests that call During must not run in parallel. The
// trace is kept in memory, some 200 bytes for each time that a goroutine waits or goes on. While f
// runs, During notes every 10 ms what the kernel counts for this process's threads (Linux). So the
// verdict does not take waits for a CPU for waits for a lock.
//
// What is slow under the race detector or on a busy machine is slow for other causes, too. So plant or expect a wait
// that is many times as long as a request, assert on its cause and place, and never on times.
func During(ctx context.Context, o reqtrace.Options, f func()) (*Verdict, error) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		return nil, fmt.Errorf("verdict: During cannot trace: %w; end the other trace first (go test -trace takes one, too)", err)
	}
	func() {
		watch, _ := cpuwatch.Start(os.Getpid(), true) // without the quota, the threads' counts are still there
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
