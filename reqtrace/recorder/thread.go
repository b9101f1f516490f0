package recorder

import (
	"runtime"
	"time"

	"evenkeel.dev/internal/cputime"
)

// meter measures the CPU time of a goroutine by the clock of its thread, because elapsed time is
// much longer on a busy machine. Without such a clock it measures elapsed time.
type meter struct {
	wall   time.Time
	thread time.Duration
	known  bool
}

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
