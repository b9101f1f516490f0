package k8sturn

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

const (
	watchFor     = 5 * time.Minute
	listTimeout  = 5 * time.Second
	observeMin   = 100 * time.Millisecond // doubled after each failure
	observeMax   = 5 * time.Second
	typeBookmark = "BOOKMARK"
	typeDeleted  = "DELETED"
	typeError    = "ERROR"
)

// observe keeps slots equal to what the server has.
func (t *Turns) observe() {
	failing := false
	for pause := observeMin; ; pause = min(2*pause, observeMax) {
		watched, err := t.follow(t.ctx)
		if t.ctx.Err() != nil {
			return
		}
		if watched {
			pause, failing = observeMin, false
			t.watches()
		}
		if err != nil && !failing {
			failing = true
			t.unwatched.Began(t.log(), "k8sturn: cannot watch the Leases; trying again", "error", t.explain(err))
		}
		select {
		case <-t.ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause/2)): // so that replicas are not in step
		}
	}
}

func (t *Turns) watches() { t.unwatched.Over(t.log(), "k8sturn: the Leases can be watched again") }

// follow lists the Leases and watches them until the watch ends. watched: the watch told something,
// or lasted.
func (t *Turns) follow(ctx context.Context) (watched bool, err error) {
	t.mu.Lock()
	clear(t.answered)
	t.mu.Unlock()
	bound, cancel := context.WithTimeout(ctx, listTimeout)
	l, err := t.api.list(bound)
	cancel()
	if err != nil {
		t.lag(err)
		return false, err
	}
	t.mu.Lock()
	for _, name := range t.names {
		i := slices.IndexFunc(l.Items, func(o object) bool { return o.Metadata.Name == name })
		switch overtaken := t.answered[name]; {
		case i >= 0 && overtaken:
			t.seeLocked(name, l.Items[i])
		case i >= 0:
			t.setLocked(name, l.Items[i]) // even an older one, as of an etcd that was restored
		case !overtaken:
			t.goneLocked(name)
		}
	}
	t.unsynced = nil
	close(t.synced)
	t.mu.Unlock()

	// The server ends a watch after watchFor, unless it has vanished.
	bound, cancel = context.WithTimeout(ctx, watchFor+listTimeout)
	defer cancel()
	begin := time.Now()
	err = t.api.watch(bound, l.Metadata.ResourceVersion, func(e event) error {
		if e.Type != typeError {
			watched = true
			t.watches()
		}
		return t.learn(e)
	})
	watched = watched || time.Since(begin) > observeMax
	if err == nil && !watched {
		err = errUnwatched
	}
	t.lag(err)
	if isCode(err, http.StatusGone) {
		err = nil // the version is too old
	}
	return watched, err
}

func (t *Turns) lag(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unsynced = why
	select {
	case <-t.synced:
		t.synced = make(chan struct{})
	default:
	}
}

func (t *Turns) learn(e event) error {
	if e.Type == typeError {
		refusal := new(statusError)
		if err := json.Unmarshal(e.Object, refusal); err != nil {
			return fmt.Errorf("the watch ended with an error that cannot be read: %w", err)
		}
		return refusal
	}
	var o object
	if err := json.Unmarshal(e.Object, &o); err != nil {
		return err
	}
	name := o.Metadata.Name
	if e.Type == typeBookmark || !slices.Contains(t.names, name) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Type == typeDeleted {
		t.goneLocked(name)
	} else {
		t.seeLocked(name, o)
	}
	return nil
}

// seeLocked takes a version of a Lease, unless a newer one is known. mu is held.
func (t *Turns) seeLocked(name string, o object) {
	if old := t.slots[name]; !old.exists || o.newer(old.object) {
		t.setLocked(name, o)
	}
}

// setLocked takes any version. mu is held.
func (t *Turns) setLocked(name string, o object) {
	if old := t.slots[name]; !old.exists || old.object.Metadata.ResourceVersion != o.Metadata.ResourceVersion {
		t.slots[name] = slot{object: o, exists: true, since: time.Now()}
	}
	if o.holder() != t.options.Holder {
		t.loseLocked(name)
	}
}

func (t *Turns) goneLocked(name string) {
	delete(t.slots, name)
	t.loseLocked(name)
}

// loseLocked works in the background, because mu is held.
func (t *Turns) loseLocked(name string) {
	if l := t.held; l != nil && l.name == name && t.ctx.Err() == nil {
		t.background.Go(func() { l.lose(errChanged) })
	}
}
