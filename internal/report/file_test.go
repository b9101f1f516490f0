package report

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSaveAndRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.json")
	f := &File{Version: Version, Tool: Tool(), Machine: ThisMachine(), Runs: []Run{*known(t)}}
	for range 2 { // anew, and over what is there
		if err := CanSave(name); err != nil {
			t.Fatal(err)
		}
		if err := f.Save(name); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var a, b strings.Builder
	_ = Compare([]*File{f}, []string{name}).Text(&a, Style{})
	_ = Compare([]*File{got}, []string{name}).Text(&b, Style{})
	if d := cmp.Diff(a.String(), b.String()); d != "" || got.Machine != f.Machine {
		t.Errorf("what was read differs from what was saved: %s", d)
	}
	onlyFile(t, name)
}

func onlyFile(t *testing.T, name string) {
	t.Helper()
	fs, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(fs) != 1 {
		t.Errorf("files: %v, %v; want %s alone", fs, err, name)
	}
}

func TestSaveFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	why := errors.New("no ink")
	err := SaveTo(name, func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return why })
	if b, _ := os.ReadFile(name); !errors.Is(err, why) || string(b) != "old" {
		t.Errorf("%v, and the file has %q", err, b)
	}
	onlyFile(t, name)
	for _, bad := range []string{dir, filepath.Join(dir, "no", "file"), filepath.Join(name, "file")} {
		serr := SaveTo(bad, func(io.Writer) error { return nil })
		cerr := CanSave(bad)
		if serr == nil || cerr == nil || strings.Contains(serr.Error()+cerr.Error(), ".tmp") {
			t.Errorf("%q: SaveTo: %v, CanSave: %v; want what is wrong with that name", bad, serr, cerr)
		}
	}
	onlyFile(t, name)
}

// FuzzRead has whatever Read takes be shown.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := (&File{Version: Version, Runs: []Run{answered("a", 1, 5), answered("b", 1, 5)}}).Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"version":1,"runs":[{"load":{"answered":1,"duration_ns":9e18,"rate":1e308,"late":9},"gc":{"summary":{"collections":-1}},"alloc":{"bytes":-5},"server":{}}]}`))
	f.Add([]byte(`{"version":1,"runs":[{"load":{"statuses":{"-1":-1},"failures":[{}],"targets":[""]}},{"label":"\u001b[31m","load":{}}]}`))
	f.Add([]byte(`{"version":1,"runs":[null]}`))
	f.Add([]byte(`{"version":1,"runs":[{"load":{"latency":"HISTFAAAACB4nJNpmSzMwMDAzAABzFCaEUzOYMjzAAAVTgHZ"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		c := Compare([]*File{file, file}, []string{"a", "b"})
		if err := c.Text(io.Discard, Style{}); err != nil {
			t.Fatal(err)
		}
		for i := range file.Runs {
			if err := Load(io.Discard, &file.Runs[i], Style{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, col := range c.Columns {
			if a := col.Median().Alloc; a != nil {
				_ = a.Text(io.Discard, Style{})
			}
			if gc := col.Median().GC; gc != nil {
				_ = GCText(io.Discard, &gc.Summary, Style{})
			}
		}
	})
}
