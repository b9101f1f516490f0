package load

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/loadgen"
)

func TestProgressPlain(t *testing.T) {
	var b bytes.Buffer
	p := &Progress{w: &b, label: "a 1/2"}
	p.Say("starting %s", "it")
	for i := 1; i <= 25; i++ { // a warm-up of 12 s, then the measurement
		e := loadgen.Progress{
			Warmup: i <= 12, Elapsed: time.Duration(i) * time.Second, Rate: 1234.5,
			P50: time.Millisecond, P99: 20 * time.Millisecond, Fraction: .5,
		}
		if i > 12 {
			e.Elapsed -= 12 * time.Second
			e.Failed = 3
		}
		p.update(e)
	}
	p.Clear()
	want := "a 1/2: starting it\n" +
		"a 1/2:  50%  warm-up  1,234 requests/s  p50 1 ms  p99 20 ms\n" +
		"a 1/2:  50%  1,234 requests/s  p50 1 ms  p99 20 ms  3 failed\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// TestProgressLate says once why a load goes on after its time, in the warm-up and after it.
func TestProgressLate(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var b bytes.Buffer
		p := &Progress{
			w: &b, terminal: terminal, warmup: 2 * time.Second, duration: 3 * time.Second,
			timeout: 20 * time.Second, drain: time.Second,
		}
		want := func(n int, says string) {
			t.Helper()
			if !terminal {
				n = min(n, 1) // else each time it is drawn
			}
			if c := strings.Count(b.String(), "waiting"); c != n || strings.Count(b.String(), says) != n {
				t.Errorf("said %d times, want %d of %q:\n%s", c, n, says, b.String())
			}
			b.Reset()
		}
		late := func(warmup bool, planned time.Duration, inFlight, backlog int64) {
			for i := range time.Duration(3) {
				p.update(loadgen.Progress{
					Warmup: warmup, Elapsed: planned + 250*time.Millisecond + i*time.Second, Fraction: 1,
					InFlight: inFlight, Backlog: backlog,
				})
			}
		}
		p.update(loadgen.Progress{Warmup: true, Elapsed: 2001 * time.Millisecond, Fraction: 1, InFlight: 50})
		want(0, "waiting")
		late(true, p.warmup, 50, 0)
		want(3, "waiting up to 20s (-t) for 50 answers that are still out; Ctrl-C ends now")
		p.update(loadgen.Progress{Elapsed: 3001 * time.Millisecond, Fraction: 1, InFlight: 50})
		late(false, p.duration, 0, 0)
		want(0, "waiting")
		late(false, p.duration, 1, 198)
		want(3, "waiting up to 20s (-t) for 1 answer that is still out, and up to 1s to send 198 more; Ctrl-C ends now")
	}
}

func TestProgressTerminal(t *testing.T) {
	var b bytes.Buffer
	p := &Progress{w: &b, terminal: true}
	take := func() string { defer b.Reset(); return b.String() }
	p.Clear()
	if got := take(); got != "" {
		t.Errorf("clear of nothing: %q", got)
	}
	p.Say("starting")
	if got := take(); got != "\r\x1b[?7lstarting\x1b[K\x1b[?7h" {
		t.Errorf("say: %q", got)
	}
	_, _ = p.Write([]byte("hello\n"))
	if got := take(); !strings.HasPrefix(got, "\r\x1b[Khello\n\r") || !strings.Contains(got, "starting") {
		t.Errorf("the server's line: %q, want it above the bar", got)
	}
	_, _ = p.Write([]byte("half a "))
	_, _ = p.Write([]byte("line\n"))
	if got := take(); got != "\r\x1b[Khalf a line\n" {
		t.Errorf("the server's line in halves: %q", got)
	}
	for _, f := range []float64{0, .5, 1} {
		p.update(loadgen.Progress{Fraction: f})
		got := take()
		if n := strings.Count(got, "="); n != int(f*barWidth) || strings.Contains(got, "\n") {
			t.Errorf("%v of the load: %q", f, got)
		}
	}
	p.Clear()
	if got := take(); got != "\r\x1b[K" {
		t.Errorf("clear: %q", got)
	}
}
