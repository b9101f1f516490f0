package child

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/history"
)

func TestMain(m *testing.M) {
	endDelay = time.Minute // a busy machine has time to read what a child said
	leaks.Main(m)
}

// planted is a trace of a request that sleeps.
func planted(t *testing.T, sleep time.Duration) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	served := make(chan bool)
	go func() { // a request ends with the first wait after its region
		<-served
		q := trace.StartRegion(t.Context(), "evenkeel.request")
		trace.Log(t.Context(), "evenkeel.request.id", "a")
		time.Sleep(sleep)
		q.End()
		time.Sleep(time.Millisecond)
		served <- true
	}()
	served <- true
	<-served
	trace.Stop()
	return &b
}

// TestRun: this test's executable analyses a trace, and never gets to its tests.
func TestRun(t *testing.T) {
	leaks.Test(t)
	var e *history.Explained
	var cpu time.Duration
	var err error
	for sleep := 30 * time.Millisecond; sleep < time.Minute; sleep *= 4 {
		e, cpu, err = Run(t.Context(), nil, Job{Threshold: 20 * time.Millisecond, Snapshot: "x", Taken: time.Now()}, planted(t, sleep))
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Slow) != 1 || e.Slow[0].Key.Cause == reqtrace.CauseSleep { // else the machine or a thread stood still for longer than the request slept
			break
		}
	}
	if len(e.Slow) != 1 || e.Slow[0].Key.Cause != reqtrace.CauseSleep || e.Slow[0].Mark != "a" || e.Slow[0].Snapshot != "x" || cpu == 0 {
		t.Errorf("%+v, %v", e, cpu)
	}
	e, _, err = Run(t.Context(), nil, Job{Threshold: time.Hour}, bytes.NewReader(planted(t, 30*time.Millisecond).Bytes()))
	if err != nil || len(e.Slow) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestNothing: what is no trace is said, and a program that is not there.
func TestNothing(t *testing.T) {
	leaks.Test(t)
	for name, trace := range map[string]io.Reader{"empty": &bytes.Buffer{}, "garbage": bytes.NewBufferString("garbage")} {
		if _, _, err := Run(t.Context(), nil, Job{Threshold: time.Second}, trace); !errors.Is(err, ErrDied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := Run(t.Context(), []string{"/nowhere/at/all"}, Job{}, &bytes.Buffer{}); !errors.Is(err, ErrStart) {
		t.Error(err)
	}
}

// TestGiveUp: an analysis that takes too much or too long ends, and says which.
func TestGiveUp(t *testing.T) {
	for want, c := range map[string]struct {
		memory uint64
		time   time.Duration
	}{
		"more memory than 1 MiB": {1 << 20, time.Hour},
		"longer than 1ms":        {1 << 60, time.Millisecond},
	} {
		said := ""
		giveUp(c.memory, c.time, func(why string) { said = why })
		if !strings.HasSuffix(said, want) {
			t.Errorf("%q, not %q", said, want)
		}
	}
}

// silent never ends, and gives nothing, until its context ends.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, io.EOF
}
