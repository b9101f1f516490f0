package geo

import (
	"os"
	"testing"
)

// TestLeaves compares what the leaf functions give with what cgo gives.
func TestLeaves(t *testing.T) {
	if a, b := add(3, 4), geoAdd(3, 4); a != int(b) {
		t.Error(a, b)
	}
	v := []float64{1, 2, 3.5}
	if a, b := sum(v), geoSum(v); a != b || geoSum(nil) != 0 {
		t.Error(a, b)
	}
	src := []byte("a b c 12345")
	one, two := make([]byte, 8), make([]byte, 8)
	if a, b := pack(one, src), geoPack(two, uint64(len(two)), src, uint64(len(src))); a != int(b) || string(one) != string(two) || packAt(one, 2, src) != 6 {
		t.Error(a, b, one, two)
	}
	var d [4]byte
	geoDigest(d[:], src)
	if digest(src) != d {
		t.Error(d)
	}
	a, ok := parse("123")
	if ret, value := geoParse([]byte("123\x00")); int(value) != a || (ret != 0) != ok {
		t.Error(a, ret, value)
	}
	for _, n := range []int{17, -1} {
		a, err := root(n)
		if b, err2 := geoRoot(int32(n)); a != int(b) || err != err2 {
			t.Error(a, err, b, err2)
		}
	}
	if geoVersion() != version() {
		t.Error(geoVersion())
	}
	b := box{Low: point{X: 1, Y: 2}, High: point{X: 3, Y: 4}}
	if m := geoMiddle(b); m != (point{2, 3}) || !geoWithin(&b, m) {
		t.Error(m)
	}
	if n := int(geoMode(7) + geoMode(0)); n != mode() {
		t.Error(n)
	}
	if _, n := geoCount(src); int(n) != blanks(src) {
		t.Error(n)
	}
	if n := geoTotal([]point{{1, 2}, {3, 4}}); n != 10 {
		t.Error(n)
	}
	ret, x := indexOpen(4)
	if ret != 0 || x == nil || indexPut(x, 7) != 0 || indexSize(x) != 1 {
		t.Error(ret, x)
	}
	if _, err := indexSave(x, -1); err == nil {
		t.Error("saved to no file")
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if n, err := indexSave(x, int32(null.Fd())); n != 4 || err != nil {
		t.Error(n, err)
	}
	indexFree(x)
	indexFree(indexNew(3))
}
