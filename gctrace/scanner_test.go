package gctrace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/testutil"
)

// scan reads all of r; the cycles are printed again for short comparisons.
func scan(t testing.TB, r io.Reader) (lines []string, st Stats) {
	t.Helper()
	s := NewScanner(r)
	for c := range s.All() {
		lines = append(lines, format(c))
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	for range s.All() {
		t.Fatal("a cycle behind the end")
	}
	return lines, s.Stats()
}

// first returns the number of the next cycle, or 0.
func first(s *Scanner) int64 {
	for c := range s.All() {
		return c.N
	}
	return 0
}

// plain is the line of cycle n, not forced.
func plain(n int64) string {
	return format(with(forcedCycle, func(c *Cycle) { c.N, c.Forced = n, false }))
}

func TestScanner(t *testing.T) {
	t.Parallel()
	six, seven, eight := plain(6), plain(7), plain(8)
	forced := func(line string) string { return line + " (forced)" }
	long := strings.Repeat("x", 3*bufferBytes/2)
	// cut returns line's parts around the first mark.
	cut := func(line, mark string) (string, string) {
		i := strings.Index(line, mark)
		return line[:i], line[i:]
	}
	atA, atB := cut(six, "0.044s")
	utilA, utilB := cut(six, "13%")
	percentA, percentB := cut(six, "%")
	nA, _ := cut(six, " @")
	termA, termB := cut(six, "+0.018 ms cpu")
	tests := []struct {
		name, in string
		want     []string
		stats    Stats
	}{
		{name: "empty"},
		{"one", six + "\n", []string{six}, Stats{Lines: 1, Cycles: 1}},
		{"CRLF", six + "\r\n" + forced(seven) + "\r\n", []string{six, forced(seven)}, Stats{Lines: 2, Cycles: 2}},
		{"no last newline", six, []string{six}, Stats{Lines: 1, Cycles: 1}},
		{"others only", "a\n\ngc pressure\ngc 5 @home\n", nil, Stats{Lines: 4, Foreign: 4}},
		{
			"other GODEBUG lines", "GC forced\n" + six + "\nscan: total 36+122+73=231 objs, 19+6=25 spans\n" +
				"pacer: assist ratio=2.1 (scan 0 MB in 3->4 MB) workers=0+0.25\n" +
				"scav 0 KiB work (bg), 0 KiB work (eager), 2672 KiB now, 62% util\nxGC forced\r\n",
			[]string{six},
			Stats{Lines: 6, Foreign: 5, Cycles: 1},
		},
		{"text before", "partial text" + six + "\n", []string{six}, Stats{Lines: 1, Cycles: 1}},
		{"NULs before", strings.Repeat("\x00", 5000) + six + "\n", []string{six}, Stats{Lines: 1, Cycles: 1}},
		{
			"log line inside", atA + "2026/11/21 10:00:00 log line\n" + atB + "\n",
			[]string{six},
			Stats{Lines: 2, Foreign: 1, Cycles: 1, Recovered: 1},
		},
		{
			"date behind a number", percentA + "2026/11/21 10:00:00 log line\n" + percentB + "\n",
			[]string{six},
			Stats{Lines: 2, Cycles: 1, Recovered: 1},
		},
		{
			"date where a number belongs", utilA + "2026/11/21 10:00:00 log line\n" + utilB + "\n",
			[]string{six},
			Stats{Lines: 2, Cycles: 1, Recovered: 1},
		},
		{
			"time behind a number", percentA + "10:00:00 log line\n" + percentB + "\n",
			[]string{six},
			Stats{Lines: 2, Cycles: 1, Recovered: 1},
		},
		{
			"other digits behind a number", percentA + "1732165201 y\n" + percentB + "\n" + seven + "\n",
			[]string{seven},
			Stats{Lines: 3, Foreign: 1, Cycles: 1, Lost: 1},
		},
		{
			"digits that could be the number's", five17(percentA) + percentB + "\n" + seven + "\n",
			[]string{seven},
			Stats{Lines: 3, Foreign: 1, Cycles: 1, Lost: 1},
		},
		{
			"several deep", atA + "{\"a\":1}\n" + "2026/11/21 b\n" + "13 things\n" + "main.go:12 +0x1d\n" +
				"/usr/bin\n" + atB + "\n",
			[]string{six},
			Stats{Lines: 6, Foreign: 5, Cycles: 1, Recovered: 1},
		},
		{
			"twice", nA + "level=INFO msg=gc\n" + atA[len(nA):] + "\n" + "x\n" + atB + "\n" + seven + "\n",
			[]string{six, seven},
			Stats{Lines: 5, Foreign: 2, Cycles: 2, Recovered: 1},
		},
		{
			"without a newline", atA + "progress... " + atB + "\n",
			[]string{six},
			Stats{Lines: 1, Cycles: 1, Recovered: 1},
		},
		{
			"dots behind a number", termA + "..." + termB + "\n",
			[]string{six},
			Stats{Lines: 1, Cycles: 1, Recovered: 1},
		},
		{
			"behind text on a later line", termA + "x\n" + "y " + termB + "\n",
			[]string{six},
			Stats{Lines: 2, Cycles: 1, Recovered: 1},
		},
		{"prefixed", "I1127 20:30:00 1234 main.go:42] " + six + "\n", []string{six}, Stats{Lines: 1, Cycles: 1}},
		{
			"before the newline", six + "log line\n" + "\n" + seven + "\n",
			[]string{six, seven},
			Stats{Lines: 3, Cycles: 2, Recovered: 1},
		},
		{
			"before forced", six + "log line\n" + " (forced)\n",
			[]string{forced(six)},
			Stats{Lines: 2, Cycles: 1, Recovered: 1},
		},
		{
			"text behind, and no end", six + "log line\n" + "x\n" + seven + "\n",
			[]string{six, seven},
			Stats{Lines: 3, Foreign: 1, Cycles: 2, Recovered: 1},
		},
		{
			"no continuation", atA + "x\n" + utilA + "y\n" + eight + "\n",
			[]string{eight},
			Stats{Lines: 3, Foreign: 1, Cycles: 1, Lost: 1},
		},
		{
			"too deep", utilA + "x\n" + strings.Repeat("y\n", maxBetween+1) + utilB + "\n", nil,
			Stats{Lines: maxBetween + 3, Foreign: maxBetween + 2, Lost: 1},
		},
		{
			"gap", plain(3) + "\n" + six + "\n",
			[]string{plain(3), six},
			Stats{Lines: 2, Cycles: 2, Lost: 2},
		},
		{
			"a second process", seven + "\n" + plain(1) + "\n",
			[]string{seven, plain(1)},
			Stats{Lines: 2, Cycles: 2},
		},
		{
			"cut off", six + "\n" + strings.Replace(utilA, "gc 6", "gc 7", 1),
			[]string{six},
			Stats{Lines: 2, Cycles: 1},
		},
		{
			"cut off when broken", six + "\n" + strings.Replace(utilA, "gc 6", "gc 7", 1) + "x\n13%: 0.0",
			[]string{six},
			Stats{Lines: 3, Cycles: 1},
		},
		{
			"cut off after a broken line", utilA + "x\ny", nil,
			Stats{Lines: 2, Foreign: 1, Lost: 1},
		},
		{
			"ends with a broken line", utilA + "x\ny\n", nil,
			Stats{Lines: 2, Foreign: 1, Lost: 1},
		},
		{
			"behind a long text", long + six + "\n" + long + "\n" + seven + "\n",
			[]string{six, seven},
			Stats{Lines: 5, Foreign: 3, Cycles: 2},
		},
		{
			"long line inside", utilA + long + "\n" + utilB + "\n",
			[]string{six},
			Stats{Lines: 3, Foreign: 1, Cycles: 1, Recovered: 1},
		},
		{"long last line", long, nil, Stats{Lines: 2, Foreign: 2}},
		{
			"ends where the line before broke", utilA + "\n" + plain(8)[:len(utilA)], nil,
			Stats{Lines: 2, Lost: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range readers(tt.in) {
				got, st := scan(t, r)
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("%T: cycles: -want +got:\n%s", r, d)
				}
				if d := cmp.Diff(tt.stats, st); d != "" {
					t.Errorf("%T: stats: -want +got:\n%s", r, d)
				}
			}
		})
	}
}

// five17 puts a text behind a number that begins with digits of its own.
func five17(front string) string { return front + "17 things\n" }

// readers give the same bytes in different helpings.
func readers(in string) []io.Reader {
	r := func() io.Reader { return strings.NewReader(in) }
	all := []io.Reader{r(), iotest.HalfReader(r()), iotest.DataErrReader(r())}
	if len(in) < bufferBytes || testutil.Checking() { // a byte at a time takes the race detector a second
		all = append(all, iotest.OneByteReader(r()))
	}
	return all
}

// A live pipe: each cycle is there before the next line is written.
func TestScannerPipe(t *testing.T) {
	t.Parallel()
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	defer pw.Close()
	s := NewScanner(pr)
	for n := int64(1); n <= 3; n++ {
		if _, err := io.WriteString(pw, "log line\n"+plain(n)+"\nunfinished"); err != nil {
			t.Fatal(err)
		}
		if got := first(s); got != n {
			t.Fatalf("cycle %d, want %d; %v", got, n, s.Err())
		}
	}
}

func TestScannerErrors(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	tests := []struct {
		name string
		r    io.Reader
		want error
	}{
		{"read error", io.MultiReader(strings.NewReader(plain(1)+"\ngc 2 @0.1"), iotest.ErrReader(boom)), boom},
		{"no progress", io.MultiReader(strings.NewReader(plain(1)+"\ngc 2 @0.1"), emptyReads{}), io.ErrNoProgress},
		{"bad count", io.MultiReader(strings.NewReader(plain(1)+"\ngc 2 @0.1"), badCount{}), bufio.ErrBadReadCount},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := NewScanner(tt.r)
			n := 0
			for range s.All() {
				n++
			}
			if n != 1 || !errors.Is(s.Err(), tt.want) || s.Stats().Lost != 0 {
				t.Errorf("%d cycles, error %v, %+v; want 1, %v, 0 lost", n, s.Err(), s.Stats(), tt.want)
			}
		})
	}
}

type emptyReads struct{}

func (emptyReads) Read([]byte) (int, error) { return 0, nil }

type badCount struct{}

func (badCount) Read(b []byte) (int, error) { return len(b) + 1, nil }

func TestScannerAll(t *testing.T) {
	t.Parallel()
	s := NewScanner(strings.NewReader(plain(1) + "\n" + plain(2) + "\n" + plain(3) + "\n"))
	for c := range s.All() {
		if c.N == 2 {
			break
		}
	}
	if n := first(s); n != 3 {
		t.Errorf("a loop left early took more than it used: at %d, want 3", n)
	}
}

// serviceLog is a log of about size bytes in which one of every so many lines is a gctrace
// line (0: none) and the others are a service's JSON and text lines.
func serviceLog(size, every int) []byte {
	var b bytes.Buffer
	for i, n := 0, int64(0); b.Len() < size; i++ {
		switch {
		case every > 0 && i%every == 0:
			n++
			b.WriteString(plain(n) + "\n")
		case i%2 == 0:
			fmt.Fprintf(&b, `{"time":"2026-11-21T10:00:00.%06dZ","level":"INFO","msg":"request","method":"GET",`+
				`"path":"/search","status":200,"bytes":%d}`+"\n", i%1e6, i)
		default:
			fmt.Fprintf(&b, "time=2026-11-21T10:00:00.%06dZ level=INFO msg=\"logged in\" "+
				"user=gopher%d@example.org gc_percent=100 ms=%d\n", i%1e6, i, i%97)
		}
	}
	return b.Bytes()
}

func BenchmarkScanner(b *testing.B) {
	for _, bm := range []struct {
		name  string
		every int
	}{{"foreign=9of10", 10}, {"foreign=all", 0}, {"foreign=none", 1}} {
		log := serviceLog(8<<20, bm.every)
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				s := NewScanner(bytes.NewReader(log))
				n := int64(0)
				for range s.All() {
					n++
				}
				if st := s.Stats(); st.Cycles != n || st.Lost != 0 || st.Recovered != 0 {
					b.Fatalf("%d cycles: %+v", n, st)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	line := []byte(forcedLine)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}

// endless repeats a log.
type endless struct {
	log []byte
	at  int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.log[e.at:])
	e.at = (e.at + n) % len(e.log)
	return n, nil
}

// Neither a line of others nor a cycle costs an allocation.
func TestScannerDoesNotAllocate(t *testing.T) {
	for _, every := range []int{10, 1} {
		s := NewScanner(&endless{log: serviceLog(1<<20, every)})
		if n := testing.AllocsPerRun(10, func() {
			n := 0
			for range s.All() {
				if n++; n == 1000 {
					return
				}
			}
			t.Fatal(s.Err())
		}); n != 0 {
			t.Errorf("one cycle in %d lines: %v allocations a thousand cycles, want 0", every, n)
		}
	}
	if testutil.RaceFlag == "-race=true" {
		return // regexp takes from a sync.Pool, which then forgets by chance
	}
	s := NewScanner(io.LimitReader(&endless{log: serviceLog(1<<20, 0)}, 1<<40))
	line := []byte(`{"level":"INFO","msg":"gc pressure","n":1}`)
	if n := testing.AllocsPerRun(1000, func() { s.lines.endLine(line) }); n != 0 {
		t.Errorf("%v allocations for a line of others, want 0", n)
	}
}
