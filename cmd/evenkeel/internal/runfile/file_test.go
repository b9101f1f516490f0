package runfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/loadgen"
)

func TestSaveAndRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.json")
	f := &File{Version: Version, Tool: Tool(), Machine: ThisMachine(), Runs: []Run{{
		Label: "a", Repeat: 1, Command: []string{"./server"}, Env: []string{"GOGC=off"}, Notes: []string{"a note"},
		Load: &loadgen.Result{
			Targets: []string{"GET http://127.0.0.1:8080/"}, Duration: time.Second, Answered: 1,
			Statuses: map[int]int64{200: 1},
		},
		GC:     &GC{Collections: []Collection{{At: time.Second, Wall: time.Millisecond, Live: 1 << 20}}},
		Alloc:  &Alloc{Bytes: 1000, Source: AllocFromMemStats, Flat: []Site{{Name: "main.f", Flat: 10}}},
		Server: &Server{PeakRSSBytes: 64 << 20, CPU: time.Second, Exit: "signal: terminated"},
	}}}
	f.Runs[0].Load.Latency.Record(time.Millisecond)
	for range 2 { // anew, and over what is there
		if err := CanSave(name); err != nil {
			t.Fatal(err)
		}
		if err := f.Save(name); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var a, b strings.Builder
	if err := errors.Join(f.Write(&a), got.Write(&b)); err != nil {
		t.Fatal(err)
	}
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
	err := Save(name, func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return why })
	if b, _ := os.ReadFile(name); !errors.Is(err, why) || string(b) != "old" {
		t.Errorf("%v, and the file has %q", err, b)
	}
	onlyFile(t, name)
	for _, bad := range []string{dir, filepath.Join(dir, "no", "file"), filepath.Join(name, "file")} {
		serr := Save(bad, func(io.Writer) error { return nil })
		cerr := CanSave(bad)
		if serr == nil || cerr == nil || strings.Contains(serr.Error()+cerr.Error(), ".tmp") {
			t.Errorf("%q: Save: %v, CanSave: %v; want what is wrong with that name", bad, serr, cerr)
		}
	}
	onlyFile(t, name)
}

func TestMain(m *testing.M) { leaks.Main(m) }
