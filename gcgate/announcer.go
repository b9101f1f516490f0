package gcgate

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	drainTimeout = time.Second
	backTimeout  = 5 * time.Second
	drainAgain   = 100 * time.Millisecond // between two announcements of one drain
	retryMin     = 5 * time.Millisecond   // doubled each time
	retryMax     = time.Second
	checkFor     = 10 * time.Second // for a peer to appear
	checkEvery   = 500 * time.Millisecond

	returnTimeout = 5 * time.Minute
	stopTimeout   = time.Minute

	// Two drained replicas fail requests, so the gate holds the turn for a silent peer. Half of the
	// time from the trigger to the hard threshold is for the other replicas.
	silentMost, silentLeast = 10 * time.Second, time.Second
	silentAtStop            = 3 * time.Second

	returnLook = 100 * time.Millisecond

	// By heldUpAfter the first Ready has returned.
	heldUpAfter = backTimeout + 2*returnLook
)

// spare is the time from the trigger to the hard threshold, 0 if not known.
func silentBound(spare time.Duration) time.Duration {
	if spare == 0 {
		return silentMost
	}
	return min(max(spare/2, silentLeast), silentMost)
}

// notice asks a peer to drain this process, or to put it back.
type notice struct {
	drain bool
	first bool          // a Ready before the first drain
	until time.Time     // of a drain
	begun chan struct{} // closed at its first call, when no earlier call runs
	done  chan struct{} // closed when the peer has acted on it

	posted  time.Time
	contact time.Time // posted, or ErrNotBack last; guarded by announcer.mu
	err     error     // guarded by announcer.mu
	logged  bool      // that a call failed; owned by announcer.run
}

func (n *notice) acted() bool { return isClosed(n.done) }

func newNotice() *notice {
	now := time.Now()
	return &notice{begun: make(chan struct{}), done: make(chan struct{}), posted: now, contact: now}
}

// announcer calls one signal from a goroutine of its own, so that a slow peer delays nothing else.
type announcer struct {
	signal     Signal
	is         Description
	log        *slog.Logger
	posted     chan struct{} // capacity 1
	used       bool          // owned by the control goroutine
	drainFails bool          // until one succeeds; owned by run

	warnings *warnings

	mu         sync.Mutex // guards what follows
	newest     *notice
	cancel     context.CancelFunc // of the running call
	lastFailed bool
	final      bool // no drain is posted any more
	out        bool // a Drain may have reached the peer since Ready
}

func newAnnouncer(s Signal, log *slog.Logger) *announcer {
	log = log.With("signal", s.String())
	return &announcer{
		signal: s, is: describe(s), log: log, posted: make(chan struct{}, 1), warnings: newWarnings(log),
	}
}

func (a *announcer) usableWithoutTurn() (patience time.Duration, ok bool) {
	switch {
	case a.is.SafeWithoutTurn:
		return 0, true
	case a.is.DrainWithoutTurn == nil:
		return 0, false
	}
	patience, err := a.is.DrainWithoutTurn()
	if err != nil {
		a.log.Debug("gcgate: a signal is silent at a collection without the turn", "error", err)
	}
	return min(patience, maxAnnounceTimeout), err == nil
}

func (a *announcer) usable(within time.Duration) (err error) {
	if c, ok := a.signal.(Confirmer); ok {
		err = c.CanConfirm(within)
	}
	if err == nil && !a.is.SafeWithoutTurn && a.unconfirmed() {
		err = errNotBack
	}
	return err
}

func (a *announcer) use(err error) {
	if a.used = err == nil; a.used {
		a.warnings.over("gcgate: the signal is used again", "unused")
		return
	}
	a.warnings.lasting("unused", warnEvery,
		"gcgate: a signal cannot be used now; collecting without it", "error", err)
}

var errNotBack = errors.New("its peer has not confirmed yet that it has this process back: is it there?")

func (a *announcer) unconfirmed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.newest == nil || a.newest.drain || a.newest.first && !a.lastFailed {
		return false
	}
	return !a.newest.acted()
}

// awaitReturn waits until the peer has acted. It returns false when over is closed, or after bound
// if the peer is silent. It calls late at each look.
func (a *announcer) awaitReturn(n *notice, bound time.Duration, stop, over <-chan struct{},
	late func(time.Duration, error),
) bool {
	var stopped time.Time
	look := time.NewTicker(returnLook)
	defer look.Stop()
	for begun := n.begun; ; {
		select {
		case <-n.done:
			return true
		case <-over:
			return false
		case <-begun:
			begun = nil
		case <-look.C:
		case <-stop:
			stop, stopped, bound = nil, time.Now(), min(bound, silentAtStop)
		}
		yes, err := a.givesUp(n, bound)
		if yes || !stopped.IsZero() && time.Since(stopped) >= stopTimeout {
			return n.acted()
		}
		late(time.Since(n.posted), err)
	}
}

func (a *announcer) awaitStopped(bound context.Context, stop <-chan struct{}) {
	a.mu.Lock()
	n := a.newest
	a.mu.Unlock()
	if n == nil || n.first || a.awaitReturn(n, silentAtStop, stop, bound.Done(), func(time.Duration, error) {}) {
		return
	}
	if out, err := a.outstanding(n); out {
		a.log.Warn("gcgate: stopped before a peer had this process back; if it sends no requests here, put it back",
			"error", err)
	}
}

func (a *announcer) outstanding(n *notice) (out bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.out, n.err
}

func (a *announcer) givesUp(n *notice, bound time.Duration) (yes bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch silent := time.Since(n.contact); {
	case isClosed(n.begun) && !a.out:
		return true, n.err
	case errors.Is(n.err, ErrNotBack):
		return time.Since(n.posted) >= returnTimeout, n.err
	case n.err != nil:
		return silent >= bound, n.err
	default:
		return silent >= max(bound, backTimeout+time.Second), nil
	}
}

func (a *announcer) post(drain bool, until time.Time) *notice {
	n := newNotice()
	n.drain, n.until = drain, until
	a.mu.Lock()
	defer a.mu.Unlock()
	switch last := a.newest; {
	case !a.final, !drain && (last == nil || last.drain || last.first):
		a.postLocked(n)
	case !drain:
		return last
	}
	return n
}

// withdraw ends a drain for good. Any goroutine may call it, because the control goroutine may
// hang.
func (a *announcer) withdraw() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.final = true
	if a.newest != nil && a.newest.drain {
		a.postLocked(newNotice())
	}
}

func (a *announcer) postLocked(n *notice) {
	a.newest = n
	if a.cancel != nil {
		a.cancel()
	}
	signal(a.posted)
}

func (a *announcer) run(ctx context.Context) {
	var again <-chan time.Time
	var last *notice
	pause := retryMin
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.posted:
		case <-again:
		}
		n, err := a.send(ctx)
		if n == nil {
			continue
		}
		if n != last {
			last, pause = n, retryMin
		}
		again = nil
		switch {
		case err != nil:
			again = time.After(pause)
			pause = min(2*pause, retryMax)
		case n.drain:
			pause = retryMin
			again = time.After(drainAgain)
		}
	}
}

// send calls the signal once. It returns nil if there is a newer notice.
func (a *announcer) send(ctx context.Context) (*notice, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.mu.Lock()
	n := a.newest
	a.cancel = cancel
	select {
	case <-a.posted: // otherwise run would call the signal twice
	default:
	}
	a.mu.Unlock()
	if !isClosed(n.begun) {
		close(n.begun)
	}
	err := a.do(ctx, n)
	a.mu.Lock()
	a.cancel = nil
	a.learnLocked(n, err)
	if a.newest != n {
		a.mu.Unlock()
		return nil, nil // posted says that there is a new one
	}
	if err == nil && !n.acted() {
		close(n.done)
	}
	a.lastFailed = err != nil && !errors.Is(err, ErrNotBack)
	a.mu.Unlock() // a Logger may hang, and Stop takes mu
	a.report(n, err)
	return n, err
}

// learnLocked notes the result of a call, even if a newer notice is waiting. mu is held.
func (a *announcer) learnLocked(n *notice, err error) {
	n.err = err
	switch {
	case n.drain:
		a.out = a.out || !errors.Is(err, ErrUnreached)
	case err == nil:
		a.out = false
	case errors.Is(err, ErrNotBack):
		n.contact = time.Now()
	}
}

func (a *announcer) do(ctx context.Context, n *notice) error {
	if n.drain {
		ctx, cancel := context.WithTimeout(ctx, drainTimeout)
		defer cancel()
		return a.signal.Drain(ctx, max(time.Until(n.until), time.Millisecond))
	}
	ctx, cancel := context.WithTimeout(ctx, backTimeout)
	defer cancel()
	return a.signal.Ready(ctx)
}

// report logs failures and their end. A Ready that succeeds after a failed Drain is no end.
func (a *announcer) report(n *notice, err error) {
	what := "ready"
	if n.drain {
		what = "drain"
		a.drainFails = err != nil
	}
	switch {
	case errors.Is(err, ErrNotBack):
	case err != nil && !n.logged:
		n.logged = true
		a.warnings.lasting("tell", warnEvery,
			"gcgate: cannot reach a peer; trying again, and collecting anyway", "wanted", what, "error", err)
	case err == nil && !a.drainFails:
		a.warnings.over("gcgate: the peer takes calls again", "tell")
	}
	if err == nil && !n.drain {
		a.warnings.over("gcgate: the peer has this replica back; the others can collect again", "holds")
	}
}

// checkPeer looks for the peer, and asks it to put this process back, because a predecessor may
// have died while drained.
func (a *announcer) checkPeer(ctx context.Context) {
	c, ok := a.signal.(Checker)
	if ok && !check(ctx, c, a.log, "gcgate: a signal without a peer; looking for it for some seconds") {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.newest == nil {
		n := newNotice()
		n.first = true
		a.postLocked(n)
	}
}

// check calls c.Check for checkFor, until it returns nil. It returns false when ctx ends.
func check(ctx context.Context, c Checker, log *slog.Logger, message string) bool {
	within, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	for failed := false; ; {
		err := c.Check(within)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil && failed:
			log.Info("gcgate: the peer is there now")
			return true
		case err == nil:
			return true
		case !failed:
			failed = true
			log.Warn(message, "error", err)
		}
		select {
		case <-within.Done():
			return ctx.Err() == nil
		case <-time.After(checkEvery):
		}
	}
}
