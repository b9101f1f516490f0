package gcgate

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fickleSignal is a fakeSignal that says whether it can be used.
type fickleSignal struct {
	fakeSignal
	cannot error
}

func (s *fickleSignal) CanConfirm(time.Duration) error { return s.cannot }

// TestSignalThatComesAndGoes does not fill the log; what it is in the end the log knows.
func TestSignalThatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged logBuffer
		s := &fickleSignal{}
		a := newAnnouncer(s, slog.New(slog.NewTextHandler(&logged, nil)), new(calls))
		set := func(cannot error) {
			s.cannot = cannot
			err := a.usable(time.Second)
			if !errors.Is(err, cannot) {
				t.Errorf("unusable for %v, it says %v", err, cannot)
			}
			a.use(err)
			time.Sleep(50 * time.Millisecond)
		}
		count := func() (cannot, again int) {
			log := logged.String()
			return strings.Count(log, "cannot be used now"), strings.Count(log, "is used again")
		}
		slow := errors.New("polled too seldom")
		for range 600 { // a minute
			set(slow)
			set(nil)
		}
		if cannot, again := count(); cannot != 1 || again != 1 {
			t.Errorf("in a minute the log says %d times that it cannot be used, %d times that it can, want 1 each",
				cannot,
				again)
		}
		for range 24_000 { // 20 minutes
			set(slow)
		}
		set(nil)
		if cannot, again := count(); cannot != 3 || again != 2 {
			t.Errorf("in 20 minutes more it says so %d and %d times, want 3 and 2", cannot, again)
		}
		for _, want := range []string{"times=12000", "times=24599"} {
			if !strings.Contains(logged.String(), want) {
				t.Errorf("the log does not say %s:\n%s", want, logged.String())
			}
		}
	})
}

// pausingSignal cannot be used for a time, which begins when it is asked.
type pausingSignal struct {
	fakeSignal
	pause time.Duration // guarded by mu
	since time.Time     // guarded by mu
}

func (s *pausingSignal) CanConfirm(time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		s.since = time.Now()
	}
	if time.Since(s.since) < s.pause {
		return errors.New("polled too seldom")
	}
	return nil
}

// TestSignalThatPauses is waited for, up to the hard threshold and for a second, and once only.
func TestSignalThatPauses(t *testing.T) {
	for _, c := range []struct {
		name     string
		rate     float64 // MiB/s
		pause    time.Duration
		from, to time.Duration // that the collection waits
	}{
		{"for a moment", 20, 300 * time.Millisecond, 300 * time.Millisecond, 320 * time.Millisecond},
		{"for good", 20, time.Hour, time.Second, 1020 * time.Millisecond},
		{"and the heap fills", 1000, time.Hour, 50 * time.Millisecond, 900 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &pausingSignal{}
			inTime(t, Options{Signals: []Signal{s}, Jitter: -1}, func(t *testing.T, r *rig) {
				r.heap.Do(func() { r.heap.Rate = c.rate * mib })
				r.traffic()
				collect := func(pause time.Duration) (waited time.Duration, drained bool) {
					s.set(func() { s.pause, s.since, s.drains = pause, time.Time{}, 0 })
					before := r.Stats().Phases[StateWanting].Total
					r.until(t, StateCollecting)
					r.until(t, StateServing)
					s.set(func() { drained = s.drains > 0 })
					return r.Stats().Phases[StateWanting].Total - before, drained
				}
				const none = 5 * time.Millisecond
				if waited, drained := collect(0); waited > none || !drained {
					t.Errorf("while it can be used: waited %v, drained: %v", waited, drained)
				}
				comes := c.pause < time.Minute
				if waited, drained := collect(c.pause); waited < c.from || waited > c.to || drained != comes {
					t.Errorf("waited %v, drained: %v; want %v to %v, %v", waited, drained, c.from, c.to, comes)
				}
				if waited, drained := collect(c.pause); !comes && (waited > none || drained) {
					t.Errorf("it still cannot be used: waited %v again, drained: %v", waited, drained)
				}
				if s := r.Stats(); s.Heap > s.Hard {
					t.Errorf("it went over the hard threshold: %+v", s)
				}
			})
		})
	}
}

// TestNoticeIsSentOnce, also when it comes between the one that woke the announcer and its look at
// the newest.
func TestNoticeIsSentOnce(t *testing.T) {
	a := newAnnouncer(&fakeSignal{}, slog.New(slog.DiscardHandler), new(calls))
	a.postFirst()
	<-a.posted // as run does
	n := a.post(true, time.Now())
	if sent, err := a.send(t.Context()); sent != n || err != nil {
		t.Fatalf("sent %v, %v; want the drain", sent, err)
	}
	if len(a.posted) != 0 {
		t.Error("the announcer would send it again at once")
	}
}
