package callback

import (
	"bytes"
	"runtime"
	"testing"
)

// TestCallback calls each function on a new goroutine, whose stack moves during the callback. What C writes
// after that has to arrive.
func TestCallback(t *testing.T) {
	sevens := bytes.Repeat([]byte{7}, 64)
	for name, wrong := range map[string]func() any{
		"Work": func() any {
			if r, out := Work(3); r != 3 || out != 7 {
				return []any{r, out}
			}
			return nil
		},
		"WorkIf": func() any {
			if r, out := WorkIf(3); r != 3 || out != 7 {
				return []any{r, out}
			}
			return nil
		},
		"WorkCounted": func() any {
			if out, err := WorkCounted(3); out != 7 || err != nil {
				return []any{out, err}
			}
			return nil
		},
		"Fill": func() any {
			var p [64]byte
			if Fill(p[:]); !bytes.Equal(p[:], sevens) {
				return p
			}
			return nil
		},
		"FillIf": func() any {
			var p [64]byte
			if FillIf(p[:]); !bytes.Equal(p[:], sevens) {
				return p
			}
			return nil
		},
		"Sums": func() any {
			if four := Sums(); four != [4]int32{7, 7, 7, 7} {
				return four
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				got := make(chan any)
				go func() {
					defer close(got)
					got <- wrong()
				}()
				if w := <-got; w != nil {
					t.Fatalf("C's results are lost: %v", w)
				}
				runtime.GC()
			}
		})
	}
}

// TestShortWay: on the short way a condition for Slow costs no allocation for the frame.
func TestShortWay(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { WorkIf(0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
