package netconn

import "evenkeel.dev/aio"

// Drive carries out the operations of w's Conns until w is closed, and then returns nil. Give it a
// goroutine of its own. It drops results that belong to no Conn. A program that has such calls
// WaitIO itself, and [Deliver].
//
// If another goroutine is in WaitIO, Drive returns aio.ErrWaiting. If the operating system refuses
// to wait, it closes w and returns the reason.
func Drive(w *aio.Watcher) error {
	var failed error
	for {
		results, err := w.WaitIO()
		switch err {
		case nil:
		case aio.ErrWatcherClosed:
			return failed
		case aio.ErrWaiting:
			return err
		default:
			failed = err
			_ = w.Close()
		}
		for _, r := range results {
			Deliver(r)
		}
	}
}

// Deliver completes the Read or Write that r belongs to, and returns false if r is not a Conn's. It
// does not block. The goroutine that called WaitIO delivers every result once, even after the
// Watcher's Close.
func Deliver(r aio.Result) bool {
	k, ok := r.Tag.(*call)
	if ok {
		k.end(r)
	}
	return ok
}
