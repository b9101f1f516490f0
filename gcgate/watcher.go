package gcgate

import "context"

// A Watcher is a [Signal] that looks after its peer as long as the gate runs. It may put back other
// replicas whose processes were killed during a drain, for example.
type Watcher interface {
	// Watch is called once, in a goroutine of its own. It must return when ctx ends, because
	// [Gate.Stop] waits for it.
	Watch(ctx context.Context, g *Gate)
}

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
