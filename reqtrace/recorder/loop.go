package recorder

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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

// loop is the recorder's goroutine, which all of its fields belong to. It alone uses the flight recorder.
//
//	         enough in the account                  a slow request, then settle
//	off ───────────────────────────> on, a slice ───────────────────────────────> snapshot ──> analysis ──> history
//	    <───────────────────────────              <─────────────────────────────
//	     overdrawn, or a minute is over             at most each Options.Every
type loop struct {
	r      *Recorder
	p      process
	budget budget

	on       bool
	broken   bool      // something of the recorder's own panicked: it stays off
	refused  error     // why the flight recorder could not be started
	since    time.Time // the slice's beginning
	began    uint64    // requests until then
	measured bool      // what a request records is known of this slice
	window   time.Duration
	bytes    int
	longest  time.Duration // slow request lately

	ticks    int
	ticked   time.Time // and what was known then:
	cpu      time.Duration
	requests uint64
	dropped  uint64
	took     time.Duration // by the process, since the recorder began
	covered  time.Duration // in which the recorder was on

	pending  []note // slow requests that no snapshot has yet
	asks     []ask  // that wait for a slice to be long enough
	why      string // of the snapshot that is due; "": none is
	due      *time.Timer
	last     time.Time // a snapshot was taken
	under    *analysis // under way; nil: none
	results  chan result
	known    map[history.Key]bool
	profiled time.Time
	failing  failure // the last snapshot's; "": it was analysed
	panicked bool    // an analysis has panicked
}

// analysis is a snapshot that is analysed.
type analysis struct {
	file   *snapshotFile
	keep   bool // whatever it says
	notes  []note
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
		r: r, p: r.o.process, budget: budget{share: r.o.CPU, perRequest: requestBytes}, on: true, since: now, window: leastWindow, bytes: room(&r.o, leastWindow, listed(r.o.process.goroutines())),
		ticked: now, results: make(chan result, 1), known: map[history.Key]bool{}, due: time.NewTimer(time.Hour),
	}
	l.due.Stop()
	l.budget.event = l.p.calibrate()
	l.cpu = l.p.cpu()
	for _, s := range r.store.Snapshot().Summaries(time.Time{}) {
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
		l.longest = max(l.longest, n.duration)
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

// want has a snapshot taken once the request that asks for it is over. It is not put off until it may be: by then the window would
// have lost that request, and another asks.
func (l *loop) want(why string) {
	at := time.Now().Add(settle)
	switch {
	case !l.on, l.under != nil, !l.last.IsZero() && at.Before(l.last.Add(l.r.o.Every)):
	case l.r.o.Recorder != nil && l.budget.overdrawn():
	case l.why == "":
		l.why = why
		l.due.Reset(settle)
	case why == "panic":
		l.why = why
	}
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

// answer answers all that ask, where the slice is long enough. Each leaves the list with its one answer, which its channel has room for.
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
	start := time.Now()
	_, err = l.p.writeTo(f)
	l.budget.snapshot(time.Since(start))
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
	l.budget.earn(cpu-l.cpu, passed)
	l.took += cpu - l.cpu
	if n := dropped - l.dropped; n > 0 {
		l.r.store.Count(l.p.wall(), history.Others, history.Count{Slow: n, Failed: n})
	}
	if l.late(passed) {
		l.want("late")
	}
	goroutines := l.p.goroutines()
	if second := l.budget.tracing(requests-l.requests, goroutines, passed); l.on {
		l.slice(now, passed, requests, second)
	} else if !l.broken && l.budget.enough(time.Duration(float64(second)/passed.Seconds())) {
		l.switchOn()
	}
	l.ticked, l.cpu, l.requests, l.dropped = now, cpu, requests, dropped
	if l.ticks++; l.r.times != nil {
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

// late reports whether a tick came so late that what kept it may have kept requests before their handlers. As a program starts, much is late.
func (l *loop) late(passed time.Duration) bool {
	d, ok := l.r.Threshold()
	return ok && passed-tickEvery > d && l.ticks > int(l.r.o.Every/tickEvery)
}

// expire gives up on requests that the window has lost.
func (l *loop) expire() {
	if l.why != "" {
		return
	}
	kept := l.window + 2*time.Second // the runtime keeps whole generations, of a second
	if l.r.o.Recorder != nil {
		kept = time.Minute // it is the program's
	}
	i := 0
	for i < len(l.pending) && time.Since(l.pending[i].end) > kept {
		i++
	}
	l.count(l.pending[:i], history.Count{Limited: 1})
	l.pending = l.pending[i:]
}

// slice is the part of a tick in which the recorder was on.
func (l *loop) slice(now time.Time, passed time.Duration, requests uint64, spent time.Duration) {
	l.covered += passed
	if l.r.o.Recorder != nil { // what it takes is the program's decision
		return
	}
	lasted := now.Sub(l.since)
	if !l.measured && lasted >= measureTime {
		l.measure(requests-l.began, lasted)
		spent = l.budget.tracing(requests-l.requests, l.p.goroutines(), passed)
	}
	l.budget.traced(spent)
	switch {
	case len(l.asks) > 0:
	case lasted >= sliceLeast && l.budget.overdrawn():
		l.lastOfSlice()
		l.off()
	case lasted >= 2*sliceMost, lasted >= sliceMost && len(l.pending) == 0:
		l.lastOfSlice()
		l.off()
		l.switchOn()
	}
}

// lastOfSlice takes the snapshot that would come too late.
func (l *loop) lastOfSlice() {
	if l.why != "" {
		l.snapshot()
	}
}

// counter counts the bytes of a trace, and its generations.
type counter struct {
	n           int64
	generation  uint64 // the last
	generations int
}

// Write gets a batch of events at a time, as runtime/trace.FlightRecorder writes them. A batch begins with its type and its generation.
func (c *counter) Write(p []byte) (int, error) {
	const eventBatch = 1 // tracev2.EvEventBatch of internal/trace
	if len(p) > 0 && p[0] == eventBatch {
		if g, n := binary.Uvarint(p[1:]); n > 0 && g != c.generation {
			c.generation = g
			c.generations++
		}
	}
	c.n += int64(len(p))
	return len(p), nil
}

// events returns the bytes that are of no list of goroutines.
func (c *counter) events(goroutines int) float64 {
	return max(float64(c.n)-float64(c.generations)*listed(goroutines), 0)
}

// measure counts what the slice has recorded so far. Each goroutine has its price, once a second, and so the lists of them are no request's.
func (l *loop) measure(requests uint64, lasted time.Duration) {
	var c counter
	start := time.Now()
	if _, err := l.p.writeTo(&c); err == nil {
		l.budget.measured(c.events(l.p.goroutines()), requests, lasted)
	}
	l.budget.snapshot(time.Since(start))
	l.measured = true
}

// switchOn begins a slice, with room for what was slow lately.
func (l *loop) switchOn() {
	second := l.budget.bytes(l.r.requests.Load()-l.requests, time.Since(l.ticked))/max(time.Since(l.ticked).Seconds(), .1) + listed(l.p.goroutines())
	l.window = min(max(2*l.longest+time.Second, leastWindow), l.r.o.MaxWindow)
	l.bytes = room(&l.r.o, l.window, second)
	l.longest /= 2
	if err := l.p.start(l.window, l.bytes); err != nil {
		if l.refused == nil {
			l.r.log.Warn("recorder: it is off, as another flight recorder was started meanwhile: stop that, or share it by Options.Recorder", "error", err)
		}
		l.refused = fmt.Errorf("%w (%w)", ErrFlightRecorder, err)
		return
	}
	l.on, l.refused, l.measured = true, nil, false
	l.since, l.began = time.Now(), l.r.requests.Load()
}

// room returns how many bytes a window takes, at so many a second.
func room(o *Options, window time.Duration, second float64) int {
	return min(max(int(1.5*second*(window+time.Second).Seconds()), leastBytes), o.MaxBytes)
}

// off ends a slice. What was slow in it and is in no snapshot has none.
func (l *loop) off() {
	if !l.on {
		return
	}
	l.on = false
	l.count(l.pending, history.Count{Limited: 1})
	l.pending, l.why = nil, ""
	l.due.Stop()
	l.p.stop()
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
	if l.on && (len(l.pending) > 0 || l.r.files.dir != "") {
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
	l.publish(time.Now())
	l.r.closed = l.r.store.Close()
}
