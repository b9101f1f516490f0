package runfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// saves writes text to a file by Save.
func saves(name, text string) error {
	return Save(name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// has fails the test unless these are the files of a folder, with these texts.
func has(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := want[e.Name()]; !ok {
			t.Errorf("%s is there", e.Name())
		}
	}
	for name, text := range want {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != text {
			t.Errorf("%s has %q, %v; want %q", name, b, err, text)
		}
	}
}

func put(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// TestSaveTouchesNothingElse: a user's file of whatever name stays what it is.
func TestSaveTouchesNothingElse(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "run.json")
	put(t, name, "old", 0o600)
	put(t, name+".tmp", "the user's own", 0o600)
	if err := CanSave(name); err != nil {
		t.Error(err)
	}
	has(t, dir, map[string]string{"run.json": "old", "run.json.tmp": "the user's own"})
	if err := saves(name, "new"); err != nil {
		t.Error(err)
	}
	has(t, dir, map[string]string{"run.json": "new", "run.json.tmp": "the user's own"})
	why := errors.New("no ink")
	if err := Save(name, func(io.Writer) error { return why }); !errors.Is(err, why) {
		t.Error(err)
	}
	has(t, dir, map[string]string{"run.json": "new", "run.json.tmp": "the user's own"})
}

// TestSavePermissions: the new file may be read by whoever could read the old one, and no others.
func TestSavePermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o666, 0o640} {
		name := filepath.Join(t.TempDir(), "file")
		put(t, name, "old", mode)
		if err := saves(name, "new"); err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(name); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%v, %v; want %v", fi.Mode(), err, mode)
		}
	}
	// A new file has what any new file has.
	dir := t.TempDir()
	plain, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := saves(filepath.Join(dir, "saved"), ""); err != nil {
		t.Fatal(err)
	}
	want, _ := plain.Stat()
	if got, err := os.Stat(filepath.Join(dir, "saved")); err != nil || got.Mode() != want.Mode() {
		t.Errorf("%v, %v; want %v", got.Mode(), err, want.Mode())
	}
}

// TestSaveThroughLinks: a link stays a link.
func TestSaveThroughLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	put(t, filepath.Join(other, "there"), "old", 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(other, "there"), link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if err := errors.Join(CanSave(link), saves(link, "new")); err != nil {
		t.Error(err)
	}
	if fi, err := os.Lstat(link); err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("it is no link any more: %v, %v", fi, err)
	}
	has(t, other, map[string]string{"there": "new"})
}

// TestSaveLongName: what cannot be made is refused before the work, not after it.
func TestSaveLongName(t *testing.T) {
	name := filepath.Join(t.TempDir(), strings.Repeat("a", 300)+".json")
	if err := CanSave(name); err == nil {
		t.Error("CanSave takes a name that is too long for a file")
	}
}

// TestSaveOver has a file that cannot be replaced: it is written over, whichever text is longer.
func TestSaveOver(t *testing.T) {
	defer func() { rename = os.Rename }()
	rename = func(string, string) error { return fs.ErrPermission }
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	put(t, name, "the old text", 0o600)
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"new", "a new text that is longer", "", "as long", "the end"} {
		if err := saves(name, text); err != nil {
			t.Error(err)
		}
		has(t, dir, map[string]string{"file": text})
	}
	if after, err := os.Stat(name); err != nil || !os.SameFile(before, after) {
		t.Errorf("it is another file: %v", err)
	}
}

// TestSaveKeepsTheText: what cannot take its place is not thrown away after the work, and the error
// says where it is.
func TestSaveKeepsTheText(t *testing.T) {
	why := errors.New("no way")
	defer func() { rename = os.Rename }()
	rename = func(string, string) error { return why }
	dir := t.TempDir()
	err := saves(filepath.Join(dir, "file"), "new")
	left, _ := filepath.Glob(filepath.Join(dir, ".evenkeel-*.tmp"))
	if !errors.Is(err, why) || len(left) != 1 || !strings.Contains(err.Error(), left[0]) {
		t.Fatalf("%v; there is %q", err, left)
	}
	has(t, dir, map[string]string{filepath.Base(left[0]): "new"})
}
