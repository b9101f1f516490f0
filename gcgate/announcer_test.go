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
			if ok := a.usable(time.Second); ok != (cannot == nil) {
				t.Errorf("usable: %v, it says %v", ok, cannot)
			}
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
		cannot, again := count()
		if cannot != 6 || again != 6 {
			t.Errorf("in a minute it is told %d times that it cannot be used, %d times that it can, want 6 each", cannot, again)
		}
		for range 201 { // whatever was said last
			set(slow)
		}
		if c, a := count(); c != cannot+1 || a != again {
			t.Errorf("it cannot be used any more: told %d and %d times, want %d and %d", c, a, cannot+1, again)
		}
		set(nil)
		if c, a := count(); c != cannot+1 || a != again+1 {
			t.Errorf("it is used again: told %d and %d times, want %d and %d", c, a, cannot+1, again+1)
		}
	})
}

// TestNoticeIsToldOnce, also when it comes between the one that woke the announcer and the look at
// what is to be told.
func TestNoticeIsToldOnce(t *testing.T) {
	a := newAnnouncer(&fakeSignal{}, slog.New(slog.DiscardHandler), new(calls))
	a.postFirst()
	<-a.posted // as run does
	n := a.post(true, time.Now())
	if told, err := a.tell(t.Context()); told != n || err != nil {
		t.Fatalf("told %v, %v; want the drain", told, err)
	}
	if len(a.posted) != 0 {
		t.Error("the announcer would tell it again at once")
	}
}
