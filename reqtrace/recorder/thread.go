package recorder

import (
	"runtime"
	"time"

	"evenkeel.dev/internal/cputime"
)

// meter measures the CPU time that one goroutine takes from start to stop, by the clock of its
// thread. Elapsed time does not do, because a busy machine can make it a hundred times as long. If
// threads have no such clock, meter measures elapsed time anyway.
type meter struct {
	wall   time.Time
	thread time.Duration
	known  bool
}

// start locks the goroutine to its thread until stop.
func (m *meter) start() {
	runtime.LockOSThread()
	m.wall = time.Now()
	m.thread, m.known = cputime.Thread()
}

func (m *meter) stop() (took time.Duration) {
	if now, ok := cputime.Thread(); ok && m.known {
		took = now - m.thread
	} else {
		took = time.Since(m.wall)
	}
	runtime.UnlockOSThread()
	return took
}
