package recorder

import (
	"context"
	"runtime/debug"
	"time"

	"evenkeel.dev/internal/history"
)

const (
	tickEvery   = time.Second
	leastWindow = 2 * time.Second
	leastBytes  = 1 << 20
	maxPending  = 4096
	maxAsks     = 8
	maxAnalysis = time.Minute
	maxLast     = 5 * time.Second
)

// loop is the recorder's goroutine, which owns all of its fields. Only it uses the flight recorder.
//
//	     armed, and enough in the account             a slow request, then settle
//	off ───────────────────────────────> on, a slice ───────────────────────────────> snapshot ──> kept, or analysed
//	    <───────────────────────────────              <─────────────────────────────
//	     what is left is due for a snapshot             at most each Options.Every
type loop struct {
	r       *Recorder
	p       process
	account account

	on      bool
	broken  bool
	refused error     // by the flight recorder
	poor    bool      // off to stay within the budget
	logged  time.Time // about being off

	slice  slice
	demand demand
	last   reading
	sum    sums
	next   next
	news   news

	under    *analysis
	results  chan result
	failing  failure // of the last snapshot
	panicked bool
}

type slice struct {
	since  time.Time
	began  uint64
	window time.Duration
	bytes  int

	sized  time.Time // when the bytes per request were measured
	steady bool      // not at the beginning of a slice
}

type demand struct {
	active  time.Time
	slowAt  time.Time
	longest time.Duration
}

type reading struct {
	ticks    int
	at       time.Time
	cpu      time.Duration
	requests uint64
	dropped  uint64
	others   time.Duration
	switched bool // since the last tick

	second time.Duration // of tracing, smoothed
	flow   float64       // bytes per second, smoothed
}

type sums struct {
	covered time.Duration
	lacked  time.Duration
	watched [2]time.Duration // watched and covered, in the history
}

func newLoop(r *Recorder) *loop {
	now := time.Now()
	l := &loop{
		r: r, p: r.o.process, on: true, logged: now,
		slice: slice{since: now}, last: reading{at: now},
		account: account{share: r.o.CPU, perRequest: requestBytes},
		next:    next{due: time.NewTimer(time.Hour)}, news: newNews(r.store), results: make(chan result, 1),
	}
	l.next.due.Stop()
	if r.o.InProcess {
		l.account.perByte = analysisCost
	}
	l.slice.window, l.slice.bytes = size(&r.o, 0, listed(l.p.goroutines()))
	l.account.event, l.account.watching = l.p.calibrate()
	l.last.cpu = l.p.cpu()
	r.stats.Since = now
	l.publish(now)
	return l
}

func (l *loop) run() {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case ctx := <-l.r.stop:
			l.guard(func() { l.end(ctx) })
			l.close()
			running.Store(false)
			close(l.r.done)
			return
		case n := <-l.r.notes:
			l.guard(func() { l.note(n) })
		case a := <-l.r.asks:
			l.guard(func() { l.ask(a) })
		case <-l.next.due.C:
			l.guard(l.snapshot)
		case res := <-l.results:
			l.guard(func() { l.result(res) })
		case <-tick.C:
			l.guard(l.tick)
		}
	}
}

// guard keeps a defect of the recorder away from the service. The recorder is off from then on.
func (l *loop) guard(f func()) {
	defer func() {
		if v := recover(); v != nil {
			if !l.broken { // once, because a panic in each tick would fill the log
				l.r.log.Warn("recorder: a defect; it is off until the service starts again", "panic", v, "stack",
					string(debug.Stack()))
			}
			l.broken = true
			l.off()
			l.answer()
			l.publish(time.Now())
		}
	}()
	f()
}

func (l *loop) note(n note) {
	if n.slow {
		l.demand.longest, l.demand.slowAt = max(l.demand.longest, n.duration), time.Now()
		switch {
		case !l.on:
			l.count([]note{n}, history.Count{Off: 1})
		case len(l.next.pending) == maxPending:
			l.count([]note{n}, history.Count{Failed: 1})
		default:
			l.next.pending = append(l.next.pending, n)
		}
	}
	if n.panicked {
		l.want("panic")
	} else {
		l.want("slow")
	}
}

func (l *loop) takeNotes() {
	for len(l.r.notes) > 0 {
		l.note(<-l.r.notes)
	}
}

func (l *loop) tick() {
	now := time.Now()
	last := &l.last
	passed := now.Sub(last.at)
	cpu, requests := l.p.cpu(), l.r.requests.Load()
	taken, came := cpu-last.cpu, requests-last.requests
	l.account.earn(taken, passed)
	l.countDropped()
	if came > 0 {
		l.demand.active = now
	}
	if l.late(passed) {
		l.want("late")
	}
	goroutines := l.p.goroutines()
	spent := l.account.tracing(came, goroutines, passed)
	last.smooth(spent, l.account.bytes(came, passed)+listed(goroutines)*passed.Seconds(), passed)
	l.pair(taken, came, goroutines, passed)
	last.requests, last.at = requests, now
	if l.poor = l.poor && !l.account.full(); l.poor {
		l.sum.lacked += passed
	}
	if l.on {
		l.inSlice(now, passed, came, spent)
	} else if l.affords(now) {
		l.switchOn()
	}
	last.cpu, last.switched = cpu, false
	if last.ticks++; last.ticks%60 == 0 {
		l.watch(now)
	}
	if l.r.times != nil {
		if last.ticks%60 == 0 {
			l.r.times.turn()
		}
		if last.ticks%10 == 0 {
			l.r.threshold.Store(int64(l.r.times.quantile(l.r.o.Quantile)))
		}
	}
	l.expire()
	l.answer()
	l.publish(now)
}

// late reports whether a tick was so late that requests may have waited before their handlers. Much
// is late while a program starts.
func (l *loop) late(passed time.Duration) bool {
	d, ok := l.r.slowFrom()
	return ok && passed-tickEvery > d && l.last.ticks > int(l.r.o.Every/tickEvery)
}

func (l *loop) watch(now time.Time) {
	if !l.r.o.InProcess { // nobody has looked for causes
		return
	}
	passed := now.Sub(l.r.stats.Since)
	l.r.store.Watched(l.p.wall(), passed-l.sum.watched[0], l.sum.covered-l.sum.watched[1])
	l.sum.watched = [2]time.Duration{passed, l.sum.covered}
}

func (l *loop) count(notes []note, c history.Count) {
	c.Slow = 1
	for _, n := range notes {
		l.r.store.Count(l.p.wall(), n.Class, c)
	}
}

func (l *loop) countDropped() {
	dropped := l.r.dropped.Load()
	if n := dropped - l.last.dropped; n > 0 {
		l.r.store.Count(l.p.wall(), history.Others, history.Count{Slow: n, Failed: n})
	}
	l.last.dropped = dropped
}

func (l *loop) end(ctx context.Context) {
	l.takeNotes()
	ctx, cancel := context.WithTimeout(ctx, maxLast)
	defer cancel()
	l.await(ctx)
	if l.on && (l.r.files.dir != "" || len(l.next.pending) > 0 && l.r.o.InProcess) { // else nobody could read it
		l.next.why = "stop"
		l.snapshot()
		l.await(ctx)
	}
	l.countDropped()
}

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

func (l *loop) close() {
	l.off()
	if l.under != nil { // only after a defect
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
