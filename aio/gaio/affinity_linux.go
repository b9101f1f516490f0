package gaio

import "evenkeel.dev/aio/internal/sys"

func bindThread(cpu int) error { return sys.SetAffinity(cpu) }

// mayRunOn reports whether this process may run on a CPU. It asks on a new thread, because the
// caller's may be bound. If the kernel does not say, bindThread finds out.
func mayRunOn(cpu int) bool {
	answer := make(chan bool)
	go func() {
		may, err := sys.MayRunOn(cpu)
		answer <- may || err != nil && cpu >= 0
	}()
	return <-answer
}
