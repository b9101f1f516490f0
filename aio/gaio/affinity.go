package gaio

import (
	"log/slog"
	"runtime"
)

// setAffinity is SetLoopAffinity. After Close it returns over.
func (t *table) setAffinity(cpu int, over error) error {
	if !mayRunOn(cpu) {
		return ErrCPUID
	}
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return over
	}
	t.affinity.Store(int32(cpu) + 1)
	return nil
}

// bind binds the goroutine in WaitIO. If the system refuses, the thread stays where it was.
func (t *table) bind() {
	if cpu := int(t.affinity.Swap(0)) - 1; cpu >= 0 {
		runtime.LockOSThread()
		if err := bindThread(cpu); err != nil {
			slog.Default().Warn("gaio: the thread of WaitIO could not be bound", "cpu", cpu, "error", err)
		}
	}
}
