package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/history"
)

type analysis struct {
	file   *snapshotFile
	keep   bool
	notes  []note
	bytes  int64
	cancel context.CancelFunc
}

type result struct {
	explained *history.Explained
	cpu       time.Duration
	err       error
}

type failure string

const (
	failWrite  failure = "it could not be written"
	failMemory failure = "the service had too little memory left"
	failNone   failure = "its analysis ended without an answer"
	failPanic  failure = "its analysis panicked"
	failLate   failure = "its analysis took too long"
)

func (l *loop) snapshot() {
	switch {
	case l.next.why == "": // it was taken already, or the slice is over
		return
	case l.under != nil:
		l.next.due.Reset(tickEvery)
		return
	}
	l.takeNotes()
	why, notes := l.next.why, l.next.pending
	l.next.why, l.next.pending = "", nil
	l.next.due.Stop()
	l.next.last = time.Now()
	taken := l.p.wall()
	if left := l.p.memory(); l.r.o.InProcess && left < analysisMemory {
		err := fmt.Errorf("%d MB are left, and an analysis needs up to %d MB", left>>20, analysisMemory>>20)
		l.fail(notes, failMemory, err)
		return
	}
	file, err := l.r.files.create(taken, why)
	if err != nil {
		l.fail(notes, failWrite, err)
		return
	}
	n, err := l.writeTo(file)
	l.r.log.Debug("recorder: a snapshot", "took", time.Since(l.next.last), "bytes", n, "why", why)
	head := &history.Head{CPU: l.counted(), Trace: history.Trace{
		Snapshot: file.id, Build: l.r.o.Build, Taken: taken, Usual: l.r.store.Usual(),
	}}
	if threshold, ok := l.r.slowFrom(); ok && (why != "stop" || len(notes) > 0) {
		head.Threshold = threshold
	}
	switch {
	case err != nil:
	case !l.r.o.InProcess:
		head.Noted = noted(notes)
		err = l.r.files.keepHead(file, head)
	default:
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.drop()
		l.fail(notes, failWrite, err)
		return
	}
	l.r.update(func(s *Stats) { s.Snapshots++ })
	switch {
	case !l.r.o.InProcess:
		l.failing = ""
		for i := range notes { // at the time in the head, by which an analysis finds them
			l.r.store.Count(taken, notes[i].Class, history.Count{Slow: 1, Kept: 1})
		}
		l.r.update(func(s *Stats) { s.Kept += uint64(len(notes)) })
	case head.Threshold == 0:
		l.r.files.keep(file)
	default:
		l.analyze(head, &analysis{
			file: file, keep: why == "panic" || why == "stop", notes: notes, bytes: min(n, maxAnalyzed),
		})
	}
}

func (l *loop) writeTo(w io.Writer) (int64, error) {
	var m meter
	m.start()
	n, err := l.p.writeTo(w)
	l.account.snapshot(m.stop())
	return n, err
}

func (l *loop) analyze(head *history.Head, a *analysis) {
	ctx, cancel := context.WithTimeout(context.Background(), maxAnalysis)
	a.cancel = cancel
	l.under = a
	go func() {
		var res result
		res.explained, res.cpu, res.err = l.p.analyze(ctx, l.r.ending, head, a.file)
		l.results <- res // which has room for one
	}()
}

func (l *loop) counted() *cpuwatch.CPU {
	cpu := l.p.counted()
	if cpu == nil {
		return nil
	}
	from := time.Now().Add(-l.reach())
	cpu.Moments = slices.DeleteFunc(cpu.Moments, func(m cpuwatch.Moment) bool { return m.At.Before(from) })
	return cpu
}

func noted(notes []note) (list []history.Noted) {
	for i := range notes {
		list = append(list, notes[i].Noted)
	}
	return list
}

func (l *loop) fail(notes []note, why failure, err error) {
	l.count(notes, history.Count{Failed: 1})
	if l.failing != why && !(why == failPanic && l.panicked) { // a defect repeats, and its stack is long
		l.r.log.Warn("recorder: a snapshot is lost: "+string(why), "error", err)
	}
	l.failing, l.panicked = why, l.panicked || why == failPanic
	l.r.update(func(s *Stats) { s.fail(why, err) })
}

func (l *loop) result(res result) {
	a := l.under
	l.under = nil
	a.cancel()
	l.account.analyzed(res.cpu)
	l.account.learn(a.bytes, res.cpu)
	if res.err != nil {
		l.r.files.keep(a.file)
		l.fail(a.notes, failureOf(res.err), res.err)
		return
	}
	l.failing = ""
	l.explained(a, res.explained)
}

func failureOf(err error) failure {
	switch {
	case errors.Is(err, errPanic):
		return failPanic
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return failLate
	}
	return failNone
}

func (l *loop) explained(a *analysis, e *history.Explained) {
	if a.keep || len(e.Slow) > 0 {
		l.r.files.keep(a.file)
	} else {
		a.file.drop()
	}
	l.takeNotes() // also of requests that e has
	late := l.next.pending
	added, missed := l.r.store.AddSnapshot(&history.Head{
		Trace: history.Trace{Taken: l.p.wall()}, Noted: noted(slices.Concat(a.notes, late)),
	}, e)
	lost := make(map[uint64]bool, len(missed))
	for _, n := range missed {
		lost[n.Number] = true
	}
	found := func(n note) bool { return !lost[n.Number] }
	l.count(slices.DeleteFunc(a.notes, found), history.Count{Limited: 1})
	l.next.pending = slices.DeleteFunc(late, found)
	l.news.judge = l.r.store.News()
	for _, q := range added {
		if !q.Cut {
			l.explain(q)
		}
	}
	l.r.update(func(s *Stats) { s.Analyzed++ })
}

func (l *loop) explain(q history.Request) {
	fresh := l.news.isNew(q.Key)
	if fresh {
		l.r.log.Info("slow requests have a new cause", "cause", q.Key.Cause.String(), "function", q.Key.Function,
			"holder", q.Key.Holder, "class", q.Key.Class,
			"took", q.Duration, "lost", q.Lost, "words", q.Words, "snapshot", q.Snapshot)
	}
	l.r.notify(Explained{
		Class: q.Key.Class, RequestID: q.Mark, TraceID: q.TraceID, Start: q.Start, Duration: q.Duration,
		Cause: q.Key.Cause, Lost: q.Lost, Function: q.Key.Function, Place: q.Place, Holder: q.Key.Holder,
		HolderPlace: q.HolderPlace, Words: q.Words, Snapshot: q.Snapshot, New: fresh,
	})
}

const (
	newEach  = 5
	maxKnown = 4096
)

// news decides which causes the log calls new, each once.
type news struct {
	known  map[history.Key]bool   // not new any more
	judge  func(history.Key) bool // as of the last snapshot
	since  time.Time
	logged int // in this hour
}

func newNews(s *history.Store) news {
	n := news{known: map[history.Key]bool{}}
	for _, s := range s.Snapshot().Summaries(time.Time{}) {
		s.Key.Class = ""
		n.known[s.Key] = true
	}
	return n
}

func (n *news) isNew(k history.Key) bool {
	k.Class = ""
	if n.known[k] || len(n.known) >= maxKnown || !n.judge(k) {
		return false
	}
	if now := time.Now(); now.Sub(n.since) >= time.Hour {
		n.since, n.logged = now, 0
	}
	if n.logged == newEach {
		return false
	}
	n.logged++
	n.known[k] = true
	return true
}

// settle lets the request that asks for a snapshot end first.
const settle = 100 * time.Millisecond

type next struct {
	pending []note
	why     string // "": no snapshot is due
	due     *time.Timer
	last    time.Time
	asks    []chan<- answer
}

// want asks for a snapshot as soon as Options.Every allows one. If the budget allows only a few,
// the snapshot waits until the window would lose the first slow request.
func (l *loop) want(why string) {
	now, wait := time.Now(), settle
	if why == "slow" && len(l.next.pending) > 0 && l.limited() {
		first := &l.next.pending[0]
		wait = max(wait, first.end.Sub(now)+l.slice.window-first.duration-tickEvery)
	}
	wait = max(wait, l.next.last.Add(l.r.o.Every).Sub(now))
	switch {
	case !l.on, why == "late" && wait > settle:
	case l.next.why == "" || why == "panic":
		l.next.why = why
		l.next.due.Reset(wait)
	}
}

func (l *loop) expire() {
	if l.next.why != "" {
		return
	}
	kept, pending := l.reach(), l.next.pending
	i := 0
	for i < len(pending) && time.Since(pending[i].end) > kept {
		i++
	}
	l.count(pending[:i], history.Count{Limited: 1})
	l.next.pending = pending[i:]
}

func (l *loop) reach() time.Duration { return l.slice.window + 2*time.Second } // whole generations, of a second

func (l *loop) ask(a chan<- answer) {
	if len(l.next.asks) == maxAsks {
		a <- answer{err: errors.New("recorder: too many snapshots are under way: ask again in two " +
			"seconds")}
		return
	}
	l.next.asks = append(l.next.asks, a) // first, because guard answers it if the rest panics
	if !l.on && !l.broken {
		l.switchOn()
	}
	l.answer()
}

func (l *loop) answer() {
	if l.on && time.Since(l.slice.since) < leastWindow {
		return
	}
	for len(l.next.asks) > 0 {
		given := l.given()
		l.next.asks[0] <- given
		l.next.asks = l.next.asks[1:]
	}
}

func (l *loop) given() answer {
	switch {
	case l.broken:
		return answer{err: errors.New("recorder: it is off until the service starts again: see its log")}
	case !l.on:
		return answer{err: cmp.Or(l.refused, errStopped)}
	}
	f, err := createTemporary()
	if err != nil {
		return answer{err: err}
	}
	if _, err = l.writeTo(f); err != nil {
		f.drop()
		return answer{err: err}
	}
	return answer{file: f}
}
