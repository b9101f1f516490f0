package traces

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// TestSpool: what is fetched is read as it came, from memory and from a file that is gone
// afterwards.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const most = 1 << 20
	for _, size := range []int{0, 7, most - 1, most, most + 100_000} {
		in := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		s := spool{most: most}
		if n, err := s.fill(bytes.NewReader(in)); n != int64(size) || err != nil {
			t.Fatal(n, err)
		}
		if got, err := io.ReadAll(&s); err != nil || !bytes.Equal(got, in) {
			t.Errorf("%d bytes of %d, %v", len(got), size, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
	var s spool
	broken := errors.New("broken")
	if _, err := s.fill(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestSpoolIsSavedWhole: where it cannot be, what was there before stays.
func TestSpoolIsSavedWhole(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	name := filepath.Join(dir, "a-1.trace")
	if err := os.WriteFile(name, []byte("of before"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := spool{most: 4}
	if _, err := s.fill(strings.NewReader("a trace")); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	whole := s.file
	broken, err := os.Open(dir) // a folder: it cannot be read
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	s.file = broken
	if err := s.save(name); err == nil {
		t.Error("what cannot be read was saved")
	}
	if got, err := os.ReadFile(name); string(got) != "of before" {
		t.Errorf("%q, %v", got, err)
	}
	s.file = whole
	if err := s.save(name); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(name); string(got) != "a trace" {
		t.Errorf("%q, %v", got, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}
