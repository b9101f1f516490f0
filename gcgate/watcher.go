package gcgate

import "context"

// A Watcher is a [Signal] that looks after its peer as long as the gate runs, in addition to Drain
// and Ready. It may put back other replicas whose processes were killed during a drain, for
// example.
type Watcher interface {
	// Watch is called once, in a goroutine of its own. ctx ends when the gate has stopped and holds no
	// turn any more. Watch must return then, because [Gate.Stop] waits for it.
	Watch(ctx context.Context, g *Gate)
}

// watch calls the signal's Watch, if it has one. That it runs is noted from when it must return.
func (a *announcer) watch(ctx context.Context, g *Gate) {
	w, ok := a.signal.(Watcher)
	if !ok {
		return
	}
	returned := make(chan struct{})
	defer close(returned)
	defer context.AfterFunc(ctx, func() {
		defer a.call("Watch")()
		<-returned
	})()
	w.Watch(ctx, g)
}
