package recorder

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"time"

	"evenkeel.dev/reqtrace/history"
)

const (
	tickEvery   = time.Second
	settle      = 100 * time.Millisecond // after the request that asks for a snapshot: it ends, and others that are slow with it
	leastWindow = 2 * time.Second
	leastBytes  = 1 << 20
	maxPending  = 4096 // slow requests that wait for a snapshot
	maxAsks     = 8    // snapshots that are asked for at a time
	maxAnalysis = time.Minute
	maxLast     = 5 * time.Second // of the analysis at the end
)

// loop is the recorder's goroutine, which owns all of its fields. Only it uses the flight recorder.
//
//	     armed, and enough in the account             a slow request, then settle
//	off ───────────────────────────────> on, a slice ───────────────────────────────> snapshot ──> kept, or analysed
//	    <───────────────────────────────              <─────────────────────────────
//	     what is left is due for a snapshot             at most each Options.Every
type loop struct {
	r      *Recorder
	p      process
	budget budget

	on      bool
	broken  bool      // a part of the recorder panicked: it stays off
	refused error     // why the flight recorder could not be started
	since   time.Time // beginning of the slice
	began   uint64    // requests until then
	sized   time.Time // when the bytes per request were measured
	steady  bool      // that was some time after the beginning of a slice
	window  time.Duration
	bytes   int
	longest time.Duration // longest slow request lately
	active  time.Time     // when requests were last seen
	slowAt  time.Time     // when one of them was last slow
	second  time.Duration // what tracing takes per second, and its bytes per second (flow), by the last ticks
	flow    float64
	poor    bool          // it is off to stay within the budget
	lacked  time.Duration // how long it was off for that
	told    time.Time     // when that was last logged

	ticks    int
	ticked   time.Time // and what was known then:
	cpu      time.Duration
	requests uint64
	dropped  uint64
	others   time.Duration // what the recorder took without tracing
	switched bool          // on or off since then
	took     time.Duration // by the process, since the recorder began
	covered  time.Duration // in which the recorder was on

	pending  []note // slow requests that no snapshot has yet
	asks     []ask  // that wait for a slice to be long enough
	why      string // of the snapshot that is due; "": none is
	due      *time.Timer
	last     time.Time // a snapshot was taken
	under    *analysis // under way; nil: none
	results  chan result
	known    map[history.Key]bool // causes that are not logged as new any more, without their class
	judged   map[history.Key]bool // the same, for the snapshot being analysed
	newSince time.Time            // when the current hour of new causes began
	newTold  int                  // how many were logged since then
	watched  [2]time.Duration     // what the history knows of: watched and recorded time since the beginning
	profiled time.Time
	failing  failure // the last snapshot's; "": it was analysed
	panicked bool    // an analysis has panicked
}

// analysis is a snapshot that is being analysed.
type analysis struct {
	file   *snapshotFile
	keep   bool // whatever it says
	notes  []note
	bytes  int64
	cancel context.CancelFunc
}

type result struct {
	explained *history.Explained
	cpu       time.Duration
	err       error
}

func newLoop(r *Recorder) *loop {
	now := time.Now()
	l := &loop{
		r: r, p: r.o.process, on: true, since: now, ticked: now, told: now,
		budget:  budget{share: r.o.CPU, perRequest: requestBytes},
		results: make(chan result, 1), due: time.NewTimer(time.Hour),
		known: map[history.Key]bool{}, judged: map[history.Key]bool{},
	}
	l.due.Stop()
	if !r.o.keeps() {
		l.budget.perByte = analysisCost
	}
	l.window, l.bytes = size(&r.o, 0, listed(l.p.goroutines()))
	l.budget.event, l.budget.watching = l.p.calibrate(), l.p.watching()
	l.cpu = l.p.cpu()
	for _, s := range r.store.Snapshot().Summaries(time.Time{}) {
		s.Key.Class = ""
		l.known[s.Key] = true
	}
	r.stats.Since = now
	l.publish(now)
	return l
}

// run runs until the recorder is stopped.
func (l *loop) run(free func()) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case ctx := <-l.r.stop:
			l.guard(func() { l.end(ctx) })
			l.close()
			free()
			close(l.r.done)
			return
		case n := <-l.r.notes:
			l.guard(func() { l.note(n) })
		case a := <-l.r.asks:
			l.guard(func() { l.ask(a) })
		case <-l.due.C:
			l.guard(l.snapshot)
		case res := <-l.results:
			l.guard(func() { l.result(res) })
		case <-tick.C:
			l.guard(l.tick)
		}
	}
}

// guard keeps a defect of the recorder's away from the service: it is off from then on.
func (l *loop) guard(f func()) {
	defer func() {
		if v := recover(); v != nil {
			if !l.broken { // it is told once: what panics in each tick would fill the log
				l.r.log.Warn("recorder: a defect; it is off until the service starts again", "panic", v, "stack", string(debug.Stack()))
			}
			l.broken = true
			l.off()
			l.answer()
			l.publish(time.Now())
		}
	}()
	f()
}

// note takes what a request says.
func (l *loop) note(n note) {
	if n.slow {
		l.longest, l.slowAt = max(l.longest, n.duration), time.Now()
		switch {
		case !l.on:
			l.count([]note{n}, history.Count{Off: 1})
		case len(l.pending) == maxPending:
			l.count([]note{n}, history.Count{Failed: 1})
		default:
			l.pending = append(l.pending, n)
		}
	}
	if n.panicked {
		l.want("panic")
	} else {
		l.want("slow")
	}
}

// takeNotes takes those that have come.
func (l *loop) takeNotes() {
	for len(l.r.notes) > 0 {
		l.note(<-l.r.notes)
	}
}

// want asks for a snapshot, once the request that asks for it is over and Options.Every allows one.
// If the budget allows only a few, the snapshot waits as long as the window has the first slow
// request, so that it has as many slow requests as possible.
func (l *loop) want(why string) {
	now := time.Now()
	at := now.Add(settle)
	if why == "slow" && len(l.pending) > 0 && l.limited() {
		first := &l.pending[0]
		at = later(at, first.end.Add(l.window-first.duration-tickEvery))
	}
	if !l.last.IsZero() {
		at = later(at, l.last.Add(l.r.o.Every))
	}
	switch {
	case !l.on, why == "late" && at.Sub(now) > settle:
	case l.r.o.Recorder != nil && l.budget.over(0):
	case l.why == "" || why == "panic":
		l.why = why
		l.due.Reset(at.Sub(now))
	}
}

// limited reports whether recording all of the time, with as many snapshots as allowed, takes more
// than the account earns.
func (l *loop) limited() bool {
	if l.budget.unbounded() || l.budget.rate == 0 || l.r.o.Recorder != nil {
		return false
	}
	each := float64(l.budget.ending(l.kept(l.window))) / max(l.r.o.Every, l.window).Seconds()
	return float64(l.second)+each > l.budget.rate
}

// kept returns about how many bytes the flight recorder holds after a slice has lasted for a time.
func (l *loop) kept(lasted time.Duration) float64 {
	return min(l.flow*min(lasted, l.window+time.Second).Seconds(), float64(l.bytes))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ask answers who wants a snapshot, at once or after as long as one should be.
func (l *loop) ask(a ask) {
	if len(l.asks) == maxAsks {
		a.answer <- answer{err: errors.New("recorder: as many snapshots as may be are under way: ask again in two seconds")}
		return
	}
	l.asks = append(l.asks, a) // first of all: what panics from here on answers it
	if !l.on && !l.broken {
		l.switchOn()
	}
	l.answer()
}

// answer answers all callers that ask for a snapshot, if the slice is long enough. It removes a
// caller from the list with its answer. The caller's channel has room for that.
func (l *loop) answer() {
	if l.on && l.r.o.Recorder == nil && time.Since(l.since) < leastWindow {
		return
	}
	for len(l.asks) > 0 {
		given := l.given()
		l.asks[0].answer <- given
		l.asks = l.asks[1:]
	}
}

func (l *loop) given() answer {
	switch {
	case l.broken:
		return answer{err: errors.New("recorder: it is off until the service starts again: see its log")}
	case !l.on:
		return answer{err: cmp.Or(l.refused, ErrStopped)}
	}
	f, err := createTemporary()
	if err != nil {
		return answer{err: err}
	}
	var m meter
	m.start()
	_, err = l.p.writeTo(f)
	l.budget.snapshot(m.stop())
	if err != nil {
		f.drop()
		return answer{err: err}
	}
	return answer{file: f}
}

// tick keeps the account, and switches on and off.
func (l *loop) tick() {
	now := time.Now()
	passed := now.Sub(l.ticked)
	cpu, requests, dropped := l.p.cpu(), l.r.requests.Load(), l.r.dropped.Load()
	taken, came := cpu-l.cpu, requests-l.requests
	l.budget.earn(taken, passed)
	l.took += taken
	if n := dropped - l.dropped; n > 0 {
		l.r.store.Count(l.p.wall(), history.Others, history.Count{Slow: n, Failed: n})
	}
	if came > 0 {
		l.active = now
	}
	if l.late(passed) {
		l.want("late")
	}
	goroutines := l.p.goroutines()
	spent := l.budget.tracing(came, goroutines, passed)
	l.smooth(spent, l.budget.bytes(came, passed)+listed(goroutines)*passed.Seconds(), passed)
	l.pair(taken, came, goroutines, passed)
	l.requests, l.ticked = requests, now
	if l.poor = l.poor && !l.budget.full(); l.poor {
		l.lacked += passed
	}
	if l.on {
		l.slice(now, passed, came, spent)
	} else if l.armed(now) && l.budget.enough(l.slicing()) {
		l.switchOn()
	}
	l.cpu, l.dropped, l.switched = cpu, dropped, false
	if l.ticks++; l.ticks%60 == 0 {
		l.watch(now)
	}
	if l.r.times != nil {
		if l.ticks%60 == 0 {
			l.r.times.turn()
		}
		if l.ticks%10 == 0 {
			l.r.threshold.Store(int64(l.r.times.quantile(l.r.o.Quantile)))
		}
	}
	l.expire()
	l.answer()
	l.publish(now)
}

// late reports whether a tick was so late that requests may have waited before their handlers.
// Early ticks do not count, because much is late while a program starts.
func (l *loop) late(passed time.Duration) bool {
	d, ok := l.r.Threshold()
	return ok && passed-tickEvery > d && l.ticks > int(l.r.o.Every/tickEvery)
}

// expire gives up on requests that the window has lost.
func (l *loop) expire() {
	if l.why != "" {
		return
	}
	kept := l.reach()
	i := 0
	for i < len(l.pending) && time.Since(l.pending[i].end) > kept {
		i++
	}
	l.count(l.pending[:i], history.Count{Limited: 1})
	l.pending = l.pending[i:]
}

// reach returns how far back the flight recorder goes at most.
func (l *loop) reach() time.Duration {
	if l.r.o.Recorder != nil {
		return time.Minute // it is the program's
	}
	return l.window + 2*time.Second // the runtime keeps whole generations, of a second
}

// count counts slow requests, by what became of them.
func (l *loop) count(notes []note, c history.Count) {
	c.Slow = 1
	for _, n := range notes {
		l.r.store.Count(l.p.wall(), n.class, c)
	}
}

// end takes what is left, at the end of the program.
func (l *loop) end(ctx context.Context) {
	l.takeNotes()
	ctx, cancel := context.WithTimeout(ctx, maxLast)
	defer cancel()
	l.await(ctx)
	if l.on && (l.r.files.dir != "" || len(l.pending) > 0 && !l.r.o.keeps()) { // else nobody could read it
		l.why = "stop"
		l.snapshot()
		l.await(ctx)
	}
	if n := l.r.dropped.Load() - l.dropped; n > 0 {
		l.r.store.Count(l.p.wall(), history.Others, history.Count{Slow: n, Failed: n})
	}
}

// await waits for the analysis that is under way, and ends it with ctx.
func (l *loop) await(ctx context.Context) {
	if l.under == nil {
		return
	}
	select {
	case res := <-l.results:
		l.result(res)
	case <-ctx.Done():
		l.under.cancel()
		l.result(<-l.results)
	}
}

// close lets all go.
func (l *loop) close() {
	l.off()
	if l.under != nil { // only where a defect left it
		l.under.cancel()
		l.under.file.drop()
		<-l.results
	}
	l.answer()
	l.watch(time.Now())
	l.publish(time.Now())
	l.r.files.close()
	l.r.closed = l.r.store.Close()
}
