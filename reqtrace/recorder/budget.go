package recorder

import (
	"encoding/binary"
	"fmt"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/textfmt"
)

// The policy keeps the recorder within its CPU budget. tick turns it on if affords says so. inSlice turns
// it off when the account is spent.

func (l *loop) affords(now time.Time) bool { return l.armed(now) && l.account.enough(l.slicing()) }

func (r *reading) smooth(spent time.Duration, bytes float64, passed time.Duration) {
	seconds := max(passed, tickEvery/10).Seconds()
	second, flow := time.Duration(float64(spent)/seconds), bytes/seconds
	if r.ticks == 0 {
		r.second, r.flow = second, flow
	}
	const ticks = 5
	r.second += (second - r.second) / ticks
	r.flow += (flow - r.flow) / ticks
}

func (l *loop) pair(taken time.Duration, came uint64, goroutines int, passed time.Duration) {
	others := l.account.cost.Snapshots + l.account.cost.Analysis
	t := part{on: l.on, cpu: max(taken-(others-l.last.others), 0), requests: came, passed: passed}
	if l.last.others = others; l.on {
		t.model = l.account.model(came, goroutines, passed)
	}
	if l.last.switched {
		l.account.pairs.end(l.on)
		return
	}
	l.account.pairs.add(t)
}

// limited reports whether recording all of the time takes more than the account earns.
func (l *loop) limited() bool {
	if l.account.unbounded() || l.account.rate == 0 {
		return false
	}
	each := float64(l.account.ending(l.kept(l.slice.window))) / max(l.r.o.Every, l.slice.window).Seconds()
	return float64(l.last.second)+each > l.account.rate
}

// kept estimates the bytes in the flight recorder after a slice has lasted for a time.
func (l *loop) kept(lasted time.Duration) float64 {
	return min(l.last.flow*min(lasted, l.slice.window+time.Second).Seconds(), float64(l.slice.bytes))
}

// slicing returns the credit that a slice needs: its end, and a whole window if it is limited.
func (l *loop) slicing() time.Duration {
	need := l.account.ending(l.kept(l.slice.window))
	if l.limited() {
		need += time.Duration(float64(l.last.second) * l.slice.window.Seconds())
	}
	return need
}

const (
	loadWithin = 10 * time.Second
	slowWithin = time.Minute
)

// armed reports whether a slow request is likely enough to record. Without a recent one it spends
// only what the full account would lose.
func (l *loop) armed(now time.Time) bool {
	if l.broken {
		return false
	}
	_, known := l.r.slowFrom()
	slow := !l.demand.slowAt.IsZero() && now.Sub(l.demand.slowAt) < slowWithin
	return l.account.unbounded() || l.refused != nil || // the other flight recorder may have stopped
		known && now.Sub(l.demand.active) < loadWithin && (slow || l.account.full())
}

// inSlice counts a time in which the recorder was on, and switches it off if that is due.
func (l *loop) inSlice(now time.Time, passed time.Duration, came uint64, spent time.Duration) {
	l.sum.covered += passed
	lasted := now.Sub(l.slice.since)
	if l.toMeasure(lasted, now) {
		l.measure(l.last.requests-l.slice.began, lasted)
		spent = l.account.tracing(came, l.p.goroutines(), passed)
	}
	l.account.traced(spent)
	switch {
	case len(l.next.asks) > 0:
	case lasted >= leastWindow && l.spent(lasted):
		l.lastOfSlice()
		l.off()
		l.poor = true
		l.logOff(now)
	case lasted >= 2*sliceMost, lasted >= sliceMost && len(l.next.pending) == 0:
		l.lastOfSlice()
		l.off()
		l.switchOn()
	}
}

// spent reports whether only the cost of the slice's snapshot is left, or nothing during an
// analysis.
func (l *loop) spent(lasted time.Duration) bool {
	return l.account.over(0) || l.under == nil && l.account.over(l.account.ending(l.kept(lasted)))
}

// toMeasure is true soon after the first requests, and then once a minute, while the flight
// recorder has the whole slice.
func (l *loop) toMeasure(lasted time.Duration, now time.Time) bool {
	s := &l.slice
	if lasted < measureTime || lasted > s.window {
		return false
	}
	early := s.sized.Before(s.since.Add(measureAgain)) && lasted >= measureAgain
	return s.sized.IsZero() || now.Sub(s.sized) >= measureEach || early && !s.steady
}

func (l *loop) logOff(now time.Time) {
	if now.Sub(l.logged) < time.Hour {
		return
	}
	l.logged = now
	l.r.log.Info("recorder: off for some of the time to stay within its CPU budget; raise Options.CPU to see more",
		"recorded", textfmt.Share(l.coverage(now)), "CPU", l.r.o.CPU)
}

func (l *loop) coverage(now time.Time) float64 {
	return float64(l.sum.covered) / float64(max(now.Sub(l.r.stats.Since), 1))
}

func (l *loop) lastOfSlice() {
	if l.next.why != "" && l.under == nil {
		l.snapshot()
	}
}

type counter struct {
	n           int64
	generation  uint64
	generations int
}

// Write gets a batch of events per call. It begins with its type and its generation.
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

// measure counts what the slice has recorded, without the lists of goroutines, which the model has.
func (l *loop) measure(requests uint64, lasted time.Duration) {
	var c counter
	_, err := l.writeTo(&c)
	events := max(float64(c.n)-float64(c.generations)*listed(l.p.goroutines()), 0)
	whole := c.n < int64(l.slice.bytes)*9/10
	if err == nil && (whole || events > l.account.bytes(requests, lasted)) {
		l.account.measured(events, requests, lasted)
		l.r.log.Debug("recorder: measured", "bytes", c.n, "requests", requests, "in", lasted,
			"request", l.account.perRequest, "event", l.account.event)
	}
	l.slice.steady = lasted >= measureAgain
	l.slice.sized = time.Now()
}

func (l *loop) switchOn() {
	s := &l.slice
	s.window, s.bytes = size(&l.r.o, l.demand.longest, l.last.flow)
	l.demand.longest /= 2
	if err := l.p.start(s.window, s.bytes); err != nil {
		if l.refused == nil {
			l.r.log.Warn("recorder: off, because the program has started another flight recorder; stop that one",
				"error", err)
		}
		l.refused = fmt.Errorf("%w (%w)", ErrFlightRecorder, err)
		return
	}
	l.on, l.refused, l.poor, l.last.switched = true, nil, false, true
	s.since, s.began = time.Now(), l.r.requests.Load()
}

// size returns a window that reaches from one snapshot to the next, or a shorter one that fits, and
// its bytes.
func size(o *Options, longest time.Duration, second float64) (window time.Duration, bytes int) {
	const spare = 1.5
	window = min(max(o.Every, 2*longest)+time.Second, o.MaxWindow)
	if second > 0 {
		fits := float64(o.MaxBytes)/(spare*second) - 1
		window = min(window, time.Duration(fits*float64(time.Second)))
	}
	window = max(window, leastWindow)
	return window, min(max(int(spare*second*(window+time.Second).Seconds()), leastBytes), o.MaxBytes)
}

func (l *loop) off() {
	if !l.on {
		return
	}
	l.on, l.last.switched = false, true
	l.count(l.next.pending, history.Count{Limited: 1})
	l.next.pending, l.next.why = nil, ""
	l.next.due.Stop()
	l.p.stop()
}
