package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// logOf returns a file of these parts, and where each line ends.
func logOf(t testing.TB, parts ...*History) (b []byte, ends []int) {
	t.Helper()
	for _, h := range parts {
		line, err := h.line()
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, line...)
		ends = append(ends, len(b))
	}
	return b, ends
}

func TestReadLogErrors(t *testing.T) {
	for _, b := range []string{"", "\n", "nonsense\n", "00000000 {}\n", "zzzzzzzz {}\n"} {
		if _, _, _, err := ReadLog([]byte(b)); err == nil {
			t.Errorf("%q is read", b)
		}
	}
	later := lineOf([]byte(`{"version":7,"hours":[]}`))
	if _, _, _, err := ReadLog(later); !errors.Is(err, errVersion) {
		t.Errorf("%v", err)
	}
}

// FuzzReadLog: of a file that is cut off anywhere, all lines before the cut are read and nothing of
// the one that is cut. Of one in which a byte is wrong, all lines but that one are. And whatever is
// read can be written, and read again as the same.
func FuzzReadLog(f *testing.F) {
	f.Add([]byte("some requests of several lines"), 100, 7, byte(1))
	f.Add([]byte{0, 1, 2, 3, 200, 255}, 9, 200, byte('\n'))
	f.Fuzz(func(t *testing.T, seeds []byte, cut, at int, flip byte) {
		if len(seeds) > 64 {
			return
		}
		var parts []*History
		for i, s := range seeds {
			r := slow(i, night.Add(time.Duration(s)*time.Minute), lockKey, time.Duration(s)*ms)
			h := &History{}
			h.insert(r)
			h.count(r.Start, "GET /", Count{Slow: 1})
			parts = append(parts, h)
		}
		b, ends := logOf(t, parts...)
		if len(b) == 0 {
			return
		}
		of := func(skip func(int) bool) string {
			h := &History{}
			for i := range parts {
				if !skip(i) {
					h.merge(parts[i])
				}
			}
			return text(t, h)
		}
		cut = int(uint(cut) % uint(len(b)+1))
		h, good, _, _ := ReadLog(b[:cut])
		if want := of(func(i int) bool { return ends[i] > cut }); text(t, h) != want {
			t.Errorf("cut at %d of %d: %s, want %s", cut, len(b), text(t, h), want)
		}
		if good > cut || good != 0 && b[good-1] != '\n' {
			t.Errorf("cut at %d: %d bytes are whole", cut, good)
		}
		at = int(uint(at) % uint(len(b)))
		if flip == 0 || b[at] == '\n' { // without its line feed a line is one with the next, and both are lost
			return
		}
		b[at] ^= flip
		h, _, lost, _ := ReadLog(b)
		if want := of(func(i int) bool { return at < ends[i] && (i == 0 || at >= ends[i-1]) }); text(t, h) != want ||
			lost == 0 {
			t.Errorf("byte %d ^ %d: %d lines lost: %s, want %s", at, flip, lost, text(t, h), want)
		}
		again, _ := logOf(t, h)
		if back, _, lost, err := ReadLog(again); err != nil || lost != 0 || text(t, back) != text(t, h) {
			t.Errorf("written again: %v, %d lines lost", err, lost)
		}
	})
}

// FuzzReadLogBytes: nothing panics, and what is read of any file can be written and read again as the same.
func FuzzReadLogBytes(f *testing.F) {
	more := &History{}
	more.count(night, "a", Count{Slow: 1})
	b, _ := logOf(f, little(), more)
	f.Add(b)
	f.Add([]byte("sum " + text(f, little())))
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, ok := bytes.CutPrefix(b, []byte("sum ")); ok { // so that checksums are no wall
			b = lineOf(text)
		}
		h, good, lost, err := ReadLog(b)
		if good > len(b) || err == nil && good == 0 || lost < 0 {
			t.Errorf("%d bytes of %d, %d lines lost, %v", good, len(b), lost, err)
		}
		again, _ := logOf(t, h)
		if back, _, lost, err := ReadLog(again); err != nil || lost != 0 || text(t, back) != text(t, h) {
			t.Errorf("written again: %v, %d lines lost", err, lost)
		}
		if _, err := json.Marshal(h.since(night)); err != nil {
			t.Error(err)
		}
	})
}
