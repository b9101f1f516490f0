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

// During takes an execution trace of this process while f runs, and passes the verdict on the requests in it: for tests
// that serve requests themselves, with net/http/httptest say, and assert on why the slowest were slow. There
// is one trace of a process at a time: it is an error if another is being taken, and tests that call During must not run
// in parallel. The trace is kept in memory, some 200 bytes for each time that a goroutine waits or goes on. Meanwhile During notes
// each 10 ms what the kernel counts of this process's threads (Linux), so that waits for a CPU are no wait for a lock.
//
// What is slow under the race detector or on a busy machine is slow for other causes, too. So plant or expect a wait
// that is many times as long as a request, assert on its cause and place, and never on times.
func During(ctx context.Context, o reqtrace.Options, f func()) (*Verdict, error) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		return nil, fmt.Errorf("verdict: During cannot trace: %w; end the other trace first (go test -trace takes one, too)", err)
	}
	func() {
		watch, _ := cpuwatch.Start(os.Getpid(), true) // without the quota the threads are known all the same
		defer func() {                                // also if f panics, or ends the test
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
