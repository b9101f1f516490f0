package gctrace

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

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
			fmt.Fprintf(&b, "time=2026-11-21T10:00:00.%06dZ level=INFO msg=\"logged in\" user=gopher%d@example.org "+
				"gc_percent=100 ms=%d\n", i%1e6, i, i%97)
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
				for s.Scan() {
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

func BenchmarkTake(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = Take()
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
			for range 1000 {
				if !s.Scan() {
					t.Fatal(s.Err())
				}
			}
		}); n != 0 {
			t.Errorf("one cycle in %d lines: %v allocations a thousand cycles, want 0", every, n)
		}
	}
	s := NewScanner(io.LimitReader(&endless{log: serviceLog(1<<20, 0)}, 1<<40))
	line := []byte(`{"level":"INFO","msg":"gc pressure","n":1}`)
	if n := testing.AllocsPerRun(1000, func() { s.lines.endLine(line) }); n != 0 {
		t.Errorf("%v allocations for a line of others, want 0", n)
	}
}
