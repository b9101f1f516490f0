package recorder

import (
	"cmp"
	"errors"
	"time"

	"evenkeel.dev/internal/history"
)

// settle lets the request that asks for a snapshot end first.
const settle = 100 * time.Millisecond

type next struct {
	pending []note
	why     string // "": no snapshot is due
	due     *time.Timer
	last    time.Time
	asks    []ask
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
	case l.r.o.Recorder != nil && l.budget.over(0):
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

func (l *loop) reach() time.Duration {
	if l.r.o.Recorder != nil {
		return time.Minute
	}
	return l.slice.window + 2*time.Second // whole generations, of a second
}

func (l *loop) ask(a ask) {
	if len(l.next.asks) == maxAsks {
		a.answer <- answer{err: errors.New("recorder: too many snapshots are under way: ask again in two " +
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
	if l.on && l.r.o.Recorder == nil && time.Since(l.slice.since) < leastWindow {
		return
	}
	for len(l.next.asks) > 0 {
		given := l.given()
		l.next.asks[0].answer <- given
		l.next.asks = l.next.asks[1:]
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
	if _, err = l.writeTo(f); err != nil {
		f.drop()
		return answer{err: err}
	}
	return answer{file: f}
}
