package gctrace

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/testutil"
)

// FuzzScanner gives a Scanner any bytes: it ends, does not panic, counts what adds up, and
// does not mind in what pieces they come.
func FuzzScanner(f *testing.F) {
	six := plain(6)
	f.Add([]byte(six + "\nGC forced\n" + plain(7) + " (forced)\r\n"))
	f.Add([]byte("text" + six[:20] + "2026/11/21 x\n" + six[20:] + "\n"))
	f.Add([]byte("gc gc gc 6 gc 6 @gc 6 @0.044s \x00\n%\n13\n+\n" + six))
	f.Add([]byte(six + "x\n\n" + six[:30]))
	f.Fuzz(func(t *testing.T, in []byte) {
		var first []string
		var st Stats
		for i, r := range readers(string(in)) {
			got, stats := scan(t, r)
			if i == 0 {
				first, st = got, stats
				continue
			}
			if d := cmp.Diff(first, got); d != "" {
				t.Fatalf("%T reads other cycles:\n%s", r, d)
			}
			if d := cmp.Diff(st, stats); d != "" {
				t.Fatalf("%T counts otherwise:\n%s", r, d)
			}
		}
		lines := int64(strings.Count(string(in), "\n"))
		if n := len(in); n > 0 && in[n-1] != '\n' {
			lines++
		}
		if len(in) < bufferBytes && (st.Lines != lines || st.Foreign+st.Cycles > lines) {
			t.Fatalf("of %d lines: %+v", lines, st)
		}
		if int(st.Cycles) != len(first) || st.Recovered > st.Cycles || st.Lost < 0 {
			t.Fatalf("%d cycles: %+v", len(first), st)
		}
		// Every line that is one for Parse is one for the Scanner.
		var whole int64
		for line := range strings.Lines(string(in)) {
			if _, err := Parse([]byte(line)); err == nil && len(line) < bufferBytes {
				whole++
			}
		}
		if st.Cycles < whole {
			t.Fatalf("%d whole lines, %d cycles", whole, st.Cycles)
		}
	})
}

// writer makes up what programs write to standard error, each with one write(2).
type writer struct {
	*rand.Rand
	style int
}

func (w *writer) line() string {
	n := w.IntN(1000)
	switch w.style {
	case 0:
		return fmt.Sprintf("2026/11/21 10:%02d:00.%06d request %d done in %d ms, %d+%d/%d\n", n%60, n, n, n, n, n, n)
	case 1:
		return fmt.Sprintf(`{"time":"2026-11-21T10:00:00.%06dZ","level":"INFO","msg":"request",`+
			`"id":%d,"mail":"gc %d @example.org"}`+"\n", n, n, n)
	case 2:
		return fmt.Sprintf("time=2026-11-21T10:00:00.%03dZ level=WARN msg=\"gc cycle %d @%d%%: 1->2 MB\"\n", n, n, n)
	case 3:
		return fmt.Sprintf("2026-11-21T10:00:00.%03dZ\tINFO\tserver/main.go:%d\tgc %d MB goal, ok\n", n, n, n)
	case 4:
		return []string{
			"goroutine 1 [running]:\n", "main.main()\n", "\t/src/main.go:12 +0x1d\n", "\n",
			"exit status 2\n",
		}[n%5]
	}
	return fmt.Sprintf("[%d] %s\n", n, strings.Repeat("μετάφραση ", n%9))
}

// cycle makes up a cycle that can follow last.
func (w *writer) cycle(last Cycle) Cycle {
	phase := func() time.Duration {
		d, err := time.ParseDuration(formatMS(time.Duration(w.ExpFloat64()*float64(ms))) + "ms")
		if err != nil {
			panic(err)
		}
		return d
	}
	c := Cycle{
		N: last.N + 1, At: last.At + time.Duration(w.IntN(3000))*ms, UtilPercent: w.IntN(101),
		Wall:       WallPhases{phase(), phase(), phase()},
		CPU:        CPUPhases{phase(), phase(), phase(), phase(), phase()},
		HeapBefore: w.Int64N(5000) * mib, HeapAfter: w.Int64N(5000) * mib, HeapLive: w.Int64N(5000) * mib,
		Goal: Of(w.Int64N(5000) * mib), Procs: 1 + w.IntN(128), Forced: w.IntN(4) == 0, LeakCheck: w.IntN(8) == 0,
	}
	if w.IntN(4) != 0 {
		c.Stacks, c.Globals = Of(w.Int64N(100)*mib), Of(w.Int64N(100)*mib)
	}
	return c
}

// TestTorn tears every gctrace line of a log at random token boundaries, several lines deep
// and several times, and wants every cycle back. The seeds are fixed; TestSoak takes fresh ones.
func TestTorn(t *testing.T) {
	t.Parallel()
	seeds := uint64(15)
	if testutil.Checking() {
		seeds = 40
	}
	for style := range styles {
		t.Run(fmt.Sprint("style=", style), func(t *testing.T) {
			for seed := range seeds {
				tear(t, style, seed)
			}
		})
	}
}

// TestSoak is TestTorn with fresh seeds for as long as make soak says.
func TestSoak(t *testing.T) {
	length := testutil.Soak()
	if length == 0 {
		t.Skip("make soak runs it")
	}
	for end := time.Now().Add(length); time.Now().Before(end); {
		tear(t, rand.IntN(styles), rand.Uint64())
	}
}

// styles is how many styles a writer has.
const styles = 6

// tear writes a log, tears it and reads it.
func tear(t *testing.T, style int, seed uint64) {
	t.Helper()
	w := &writer{rand.New(rand.NewPCG(seed, 1)), style}
	var log strings.Builder
	var want []string
	last := Cycle{}
	for range 20 {
		log.WriteString(w.line())
		last = w.cycle(last)
		want = append(want, format(last))
		for _, token := range append(tokens(last), "\n") {
			log.WriteString(token)
			for n := w.IntN(48); token != "\n" && n < 4; n++ {
				line := w.line()
				if token == " P" && line == "\n" {
					continue // looks like the end of the line, and "(forced)" may follow
				}
				log.WriteString(line)
			}
		}
	}
	got, st := scan(t, strings.NewReader(log.String()))
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("style %d, seed %d: -want +got:\n%s\n%+v", style, seed, d, st)
	}
	if st.Lost != 0 {
		t.Fatalf("style %d, seed %d: %+v", style, seed, st)
	}
}
