//go:build cgo

package matrix

import (
	"fmt"
	"strings"
	"testing"

	"evenkeel.dev/fastc"
	"evenkeel.dev/internal/leaks"
	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { leaks.Main(m) }

var ways = map[string]func(a, b, out []float64, n, loops int){
	"fastc": Multiply, "yielding": MultiplyYielding, "cgo": MultiplyCgo,
}

func TestMultiply(t *testing.T) {
	t.Log(fastc.Source())
	for _, tt := range []struct{ n, loops int }{{0, 1}, {1, 1}, {2, 3}, {3, 0}, {62, 2}, {100, 1}} {
		size := tt.n * tt.n
		a, b, want := make([]float64, size), make([]float64, size), make([]float64, size)
		Fill(a, b, tt.n)
		Product(a, b, want, tt.n, tt.loops)
		if tt.loops > 0 && tt.n > 2 && Sum(want, tt.n) == 0 {
			t.Errorf("%v: nothing but zeros", tt)
		}
		for name, multiply := range ways {
			out := make([]float64, size+1)
			for i := range out {
				out[i] = -1
			}
			multiply(a, b, out, tt.n, tt.loops)
			if diff := cmp.Diff(want, out[:size]); diff != "" {
				t.Errorf("%s, %v (-Go +C):\n%s", name, tt, diff)
			}
			if out[size] != -1 {
				t.Errorf("%s, %v: wrote past the end", name, tt)
			}
		}
	}
}

func TestProduct(t *testing.T) {
	out := make([]float64, 4)
	Product([]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, out, 2, 2)
	if diff := cmp.Diff([]float64{38, 44, 86, 100}, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if Trace(out, 2) != 138 || Sum(out, 2) != 268 {
		t.Errorf("trace %v, sum %v", Trace(out, 2), Sum(out, 2))
	}
}

func TestMultiplyRefuses(t *testing.T) {
	four := make([]float64, 4)
	for name, multiply := range ways {
		for _, n := range []int{-1, 3, MaxSize + 1} {
			func() {
				defer func() {
					if says := fmt.Sprint(recover()); !strings.Contains(says, "requires n >= 0") {
						t.Errorf("%s, %d rows in 4 numbers: %s", name, n, says)
					}
				}()
				multiply(four, four, four, n, 1)
			}()
		}
	}
}

func TestAdd(t *testing.T) {
	for _, add := range []func(a, b int64) int64{Add, AddCgo} {
		if got := add(40, 2); got != 42 {
			t.Errorf("40 + 2 = %d", got)
		}
	}
}

func TestAllocations(t *testing.T) {
	m := make([]float64, 16)
	if n := testing.AllocsPerRun(100, func() {
		Add(1, 2)
		AddCgo(1, 2)
		for _, multiply := range ways {
			multiply(m, m, m[:16:16], 2, 1)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
