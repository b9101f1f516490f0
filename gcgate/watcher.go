package gcgate

import "context"

// A Watcher is a [Signal] that looks after its peer as long as the gate runs, beside Drain and Ready: for other replicas
// that the peer thinks are away, though their processes were killed meanwhile, say.
type Watcher interface {
	// Watch is called once, in a goroutine of its own. ctx ends when the gate has stopped and no turn is held any more;
	// Watch must return then: [Gate.Stop] waits for it.
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
