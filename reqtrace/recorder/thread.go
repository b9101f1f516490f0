package recorder

import (
	"runtime"
	"time"

	"evenkeel.dev/internal/cputime"
)

// meter measures the CPU time of what one goroutine does, from start to stop, by its thread's
// clock: a busy machine can make that last a hundred times as long. Where threads have no such
// clock it is the time that passed.
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
