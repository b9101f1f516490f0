package gaio

import "evenkeel.dev/aio"

// Stats are those of the aio.Watcher below.
func (w *Watcher) Stats() aio.Stats { return w.t.watcher.Stats() }
