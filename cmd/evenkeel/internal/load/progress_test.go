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

// TestProgressLate says why a load goes on after its time.
func TestProgressLate(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var b bytes.Buffer
		p := &Progress{w: &b, terminal: terminal}
		for inFlight, says := range map[int64]string{50: "waiting for 50 answers (", 1: "waiting for 1 answer ("} {
			for fraction, n := range map[float64]int{.99: 0, 1: 1} {
				b.Reset()
				p.last = 0
				p.update(loadgen.Progress{Elapsed: plainInterval, Fraction: fraction, InFlight: inFlight})
				if strings.Count(b.String(), says) != n {
					t.Errorf("%v of the load is over: %q, want %q %d times", fraction, &b, says, n)
				}
			}
		}
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
