package vec

import (
	"errors"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"evenkeel.dev/fastc"
)

// check compares a result with what Go works out.
func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestNumbers(t *testing.T) {
	check(t, "I8", I8(math.MinInt8), math.MaxInt8)
	check(t, "I16", I16(-2), -1)
	check(t, "Sum", Sum(-1, -2, -3, -4, 5, 6, 7, 8), 16)
	check(t, "Sum of large", Sum(0, 0, 0, math.MaxInt64-4, 0, 0, 4, 0), math.MaxInt64)
	check(t, "Word", Word(1, -2, 3, 4), 6)
	check(t, "Half", Half(3), 1.5)
	check(t, "Not", Not(true), false)
	check(t, "Not", Not(false), true)
	check(t, "Flip", Flip(Fast), Careful)
	check(t, "Flip", Flip(Careful), Fast)
	check(t, "Signum", Signum(-9), Sign(-1))
	check(t, "SignumInt", SignumInt(9), 1)
	check(t, "Upper", Upper('x'), 'X')
	check(t, "Inline", Inline(7), 21)
	check(t, "Select", Select(5), 5)
	check(t, "Wide", Wide(1<<40), 1<<40)
	check(t, "EnumF", EnumF(), nil)
	check(t, "EnumFrame", EnumFrame(), 4)
	check(t, "EnumRet", EnumRet(), nil)
	check(t, "MostUnsigned", MostUnsigned(), math.MaxUint64)
	check(t, "LeastSigned", LeastSigned(), math.MinInt64)
	check(t, "Nines", Nines(), 99999999999999999999)
	check(t, "Float64", Float64(), -0x1p64)
	Nop()
}

func TestMemory(t *testing.T) {
	a, b := []float64{1, 2, 3}, []float64{4, 5, 6, 7}
	check(t, "Dot", Dot(a, b), 32)
	check(t, "Dot of nothing", Dot(nil, nil), 0)
	long := slices.Repeat([]float64{1}, 5000) // by ordinary cgo
	check(t, "Dot of many", Dot(long, long), 5000)
	check(t, "Count", Count("seesaw", 's'), 2)
	check(t, "Count in nothing", Count("", 's'), 0)
	check(t, "Bytes", Bytes([]byte{1, 2, 250}), 253)
	check(t, "CountText", CountText("seesaw", 'e'), 2)
	check(t, "Trace", Trace(&[2][2]float64{{1, 2}, {3, 4}}), 5)
	to := make([]byte, 2)
	Copy(to, []byte{7, 8, 9})
	check(t, "Copy", string(to), "\a\b")
	row := []float32{1, 2, 3}
	Scale(row, 2)
	check(t, "Scale", row[2], 6)
	n := int64(41)
	Incr(&n)
	check(t, "Incr", n, 42)
	x := [4]int32{1, 2, 3, 4}
	check(t, "Max4", Max4(x), 4)
	Rotate(&x)
	check(t, "Rotate", x, [4]int32{2, 3, 4, 1})
	check(t, "Digest", Digest([]byte{1, 2, 3, 4, 5}), [4]byte{4, 2, 3, 4})
	f := make([]int32, 2, 5)
	check(t, "Fill", Fill(f), 2)
	check(t, "Fill", f[1], -9)
	check(t, "FillMost", FillMost(f[:5], 3), 5)
	check(t, "FillMost", f[:5][4], 6)
}

func TestStructs(t *testing.T) {
	check(t, "Mid", Mid(Point{0, 2}, Point{4, 4}), Point{2, 3})
	p := Point{1, 1}
	Move(&p, 2)
	check(t, "Move", p, Point{3, 1.5})
	check(t, "Path", Path([]Point{{0, 0}, {1, 1}, {1, -1}}), 4)
	i := Make(7)
	check(t, "Make", i, Item{Id: 7, Tag: 'v', At: Point{1.5, -2.5}, Key: [3]byte{1, 2, 3}, Mode: Fast, On: true, Grid: [2][3]int16{{1, 2, 3}, {4, 5, 6}}})
	check(t, "Check", Check(&i), 7+'v'+1-2+6+7+1)
	n := Nest{C: 1, Corner: [2]Point{{8, 0}, {0, 0}}}
	n.Range.Lo, n.Range.Hi = 3, 4
	m := Nested(n)
	check(t, "Nested", m.C, 2)
	check(t, "Nested", m.Range.Lo, 4)
	check(t, "Nested", m.Range.Hi, 3)
	check(t, "Nested", m.Corner[1], Point{0, 8})
	lo, hi, err := Box([]Point{{1, 5}, {3, 2}})
	check(t, "Box", lo, Point{1, 2})
	check(t, "Box", hi, Point{3, 5})
	check(t, "Box", err, nil)
	check(t, "MakeFixed", MakeFixed(4), Fixed{4, 5})
	fixed, err := MakePositive(6)
	check(t, "MakePositive", fixed, Fixed{6, 7})
	check(t, "MakePositive", err, nil)
	if _, err := MakePositive(-1); err == nil {
		t.Error("MakePositive(-1) does not fail")
	}
	c := New(5)
	check(t, "Next", Next(c), 5)
	check(t, "Next", Next(c), 6)
	Free(c)
	c, err = Open(1)
	check(t, "Open", err, nil)
	check(t, "Next", Next(c), 1)
	Free(c)
}

func TestErrors(t *testing.T) {
	q, r, err := Divide(17, 5)
	check(t, "Divide", q, 3)
	check(t, "Divide", r, 2)
	check(t, "Divide", err, nil)
	if _, _, err = Divide(1, 0); !errors.Is(err, syscall.EDOM) {
		t.Errorf("Divide by zero: %v, want EDOM", err)
	}
	if err := NoErrno(1); err == nil || err.Error() != "vec.NoErrno: v_noerrno failed, and left errno as it was" {
		t.Errorf("NoErrno: %v", err)
	}
	check(t, "NoErrno", NoErrno(0), nil)
	check(t, "Last", Last(1), nil)
	if err := Last(-1); !errors.Is(err, syscall.ERANGE) {
		t.Errorf("Last(-1): %v, want ERANGE", err)
	}
	if s, err := WordOf(-1); err == nil || s != "" {
		t.Errorf("WordOf(-1): %q, %v", s, err)
	}
	x, err := Root(2)
	if math.Abs(x-math.Sqrt2) > 1e-15 || err != nil {
		t.Errorf("Root: %v, %v", x, err)
	}
	if _, err := Root(-1); !errors.Is(err, syscall.EDOM) {
		t.Errorf("Root of -1: %v, want EDOM", err)
	}
	if _, _, err := Box(nil); err == nil || err.Error() != "vec.Box: requires len(p) > 0" {
		t.Errorf("Box of nothing: %v", err)
	}
	for want, f := range map[string]func(){
		"vec.Dot: requires len(b) >= len(a)":   func() { Dot([]float64{1}, nil) },
		"vec.Path: requires len(p) <= maxPath": func() { Path(make([]Point, 101)) },
		"vec.FillMost: requires v <= C.V_LIMIT": func() { FillMost(nil, 1001) },
	} {
		func() {
			defer func() { check(t, "panic", recover(), any(want)) }()
			f()
		}()
	}
}

func TestSites(t *testing.T) {
	for range 1000 {
		_, _, _ = Divide(1, 1)
		_ = Flip(Fast)
	}
	for name, s := range map[string]*fastc.Site{"Divide": DivideSite, "Flip": FlipSite} {
		if n := s.Stats().Calls; n < 500 { // an estimate
			t.Errorf("%sSite counted %d calls of 1000", name, n)
		}
	}
}

func TestAllocations(t *testing.T) {
	a, p, s := make([]float64, 8), make([]Point, 3), strings.Repeat("s", 40)
	var pt Point
	var n int64
	i := Make(1)
	for name, f := range map[string]func(){
		"Dot": func() { Dot(a, a) }, "Divide": func() { _, _, _ = Divide(7, 2) }, "Divide by zero": func() { _, _, _ = Divide(7, 0) },
		"Count": func() { Count(s, 's') }, "Mid": func() { pt = Mid(pt, p[0]) }, "Path": func() { Path(p) }, "Move": func() { Move(&pt, 1) },
		"Make": func() { i = Make(2) }, "Check": func() { Check(&i) }, "Nested": func() { Nested(Nest{}) }, "Incr": func() { Incr(&n) },
		"Max4": func() { Max4([4]int32{1}) }, "Digest": func() { Digest(nil) }, "Box": func() { _, _, _ = Box(p) }, "Root": func() { _, _ = Root(2) },
		"Open": func() { c, _ := Open(1); Free(c) }, "local": func() { q := Point{1, 1}; Move(&q, 1); x := [4]int32{}; Rotate(&x) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Free(New(1)) }); n != 1 {
		t.Errorf("New, which is slow, allocates %v times, want its frame", n)
	}
}

// deep calls use with a handle that is no address, so many frames down a stack.
//
//go:noinline
func deep(n int, h *Handle, use func(*Handle) int64) int64 {
	var b [64]byte
	b[n&63] = 1
	if n == 0 {
		return use(h)
	}
	return deep(n-1, h, use) + int64(b[(n+1)&63])
}

// TestHandles: the collector, and a stack that grows on the way into C, must not take C's handles
// for addresses of Go's.
func TestHandles(t *testing.T) {
	h := HandleOne()
	check(t, "HandleOut", HandleOut(), h)
	for name, use := range map[string]func(*Handle) int64{"HandleUse": HandleUse, "HandleMeasured": HandleMeasured, "HandleSlow": HandleSlow} {
		for i := range 1500 {
			done := make(chan int64)
			go func() { done <- deep(i%150, h, use) }()
			check(t, name, <-done, 1)
		}
	}
}

// TestInOut: a result begins as what the declaration says, and comes back as C left it.
func TestInOut(t *testing.T) {
	n, cut, at, row, next, err := Trim([]byte("ab  "), Point{1, 2}, [2]int16{3, 4}, nil)
	check(t, "n", n, 2)
	check(t, "cut", cut, true)
	check(t, "at", at, Point{2, 2})
	check(t, "row", row, [2]int16{3, 7})
	check(t, "next", next, (*Ctx)(unsafe.Pointer(HandleOne())))
	check(t, "err", err, nil)
	if n, _, _, _, again, err := Trim([]byte("  "), Point{}, [2]int16{}, next); n != 0 || again != next || err == nil {
		t.Errorf("Trim of blanks: %d, %p, %v", n, again, err)
	}
	ret, n, cut, _, _, next := TrimLimit([]byte("ab     cd"), true)
	check(t, "next", uintptr(unsafe.Pointer(next)), 2)
	check(t, "ret", ret, 0)
	check(t, "n", n, 2)
	check(t, "cut", cut, false)
}

// TestCopies: a string result is Go's own, whatever C does to its buffer.
func TestCopies(t *testing.T) {
	check(t, "Name", Name(Fast), "fast")
	check(t, "Name", Name(Careful), "")
	check(t, "Name of NULL", Name(1), "")
	first, err := WordOf(1)
	check(t, "WordOf", err, nil)
	if second, _ := WordOf(2); first != "b" || second != "c" {
		t.Errorf("WordOf: %q, %q", first, second)
	}
	check(t, "State", State(), [4]uint32{0, 1, 4, 9})
}
