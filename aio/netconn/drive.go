package netconn

import "evenkeel.dev/aio"

// Drive carries out the operations of w's Conns until w is closed, and then returns nil: it is for a
// goroutine of its own. Results that belong to no Conn are dropped; a program that has such calls
// WaitIO itself, and [Deliver].
//
// Where another goroutine is in WaitIO it returns aio.ErrWaiting. Where the operating system refuses to
// be waited for it closes w, so that nobody stays blocked, and returns the reason.
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

// Deliver takes a result of WaitIO that is a Conn's, and has the Read or Write return. It reports
// false for another, which it does not touch. It does not block. Every result has to be delivered
// once, those too that come after the Watcher's Close; the goroutine that has called WaitIO does it.
func Deliver(r aio.Result) bool {
	k, ok := r.Tag.(*call)
	if ok {
		k.end(r)
	}
	return ok
}
