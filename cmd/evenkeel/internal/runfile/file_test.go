package runfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
		Alloc:  &Alloc{Bytes: 1000, Source: FromMemStats, Lines: []Site{{Name: "main.f", Flat: 10}}},
		Server: &Server{PeakRSSBytes: 64 << 20, CPU: time.Second, Exit: "signal: terminated"},
	}}}
	f.Runs[0].Load.Latency.Record(time.Millisecond)
	for range 2 { // anew, and over what is there
		if err := CanSave(name); err != nil {
			t.Fatal(err)
		}
		if err := Save(name, f.Write); err != nil {
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

func TestReadEvents(t *testing.T) {
	at := func(s string) time.Time {
		tm, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	for name, tt := range map[string]struct {
		text  string
		want  []Event
		notes []string
	}{
		"empty": {"", nil, nil},
		"one": {
			`{"t":"2026-11-21T10:00:00.123456789Z","source":"replica 1","state":"collecting"}` + "\n",
			[]Event{{Time: at("2026-11-21T10:00:00.123456789Z"), Source: "replica 1", State: "collecting"}},
			nil,
		},
		"note, other fields, another zone, no end of line": {
			`{"heap":[1],"note":"why","state":"down","source":"λ","t":"2026-11-21T12:00:00+02:00"}`,
			[]Event{{Time: at("2026-11-21T12:00:00+02:00"), Source: "λ", State: "down", Note: "why"}},
			nil,
		},
		"blank lines, CRLF, byte order mark, null note": {
			"\ufeff" + `{"t":"2026-11-21T10:00:00Z","source":"a","state":"b","note":null}` + "\r\n\r\n  \n",
			[]Event{{Time: at("2026-11-21T10:00:00Z"), Source: "a", State: "b"}},
			nil,
		},
		"comma, as date -Ins writes": {
			`{"t":"2026-11-21T10:00:00,5+00:00","source":"a","state":"b"}`,
			[]Event{{Time: at("2026-11-21T10:00:00.5Z"), Source: "a", State: "b"}},
			nil,
		},
		"cut off": {
			`{"t":"2026-11-21T10:00:00Z","source":"a","state":"b"}` + "\n" + `{"t":"2026-11-21T10:0`,
			[]Event{{Time: at("2026-11-21T10:00:00Z"), Source: "a", State: "b"}},
			[]string{"ev:2: the last line is cut off and was left out"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := ReadEvents(strings.NewReader(tt.text), "ev")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&Events{Name: "ev", List: tt.want, Notes: tt.notes}, e); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestReadEventsRejects(t *testing.T) {
	const good = `{"t":"2026-11-21T10:00:00Z","source":"a","state":"b"}` + "\n"
	for _, tt := range []struct{ line, want string }{
		{"10:00 replica 1 collecting", "not one JSON object"},
		{"[]", "not one JSON object"},
		{"null", "is missing or empty"},
		{strings.TrimSpace(good) + good, "not one JSON object"},
		{"{", "not one JSON object"}, // with more lines after it
		{`{"source":"a","state":"b"}`, `t is "": write RFC 3339`},
		{`{"t":"2026-11-21T10:00:00Z","state":"b"}`, "is missing or empty"},
		{`{"t":"2026-11-21T10:00:00Z","source":" ","state":"b"}`, "is missing or empty"},
		{`{"t":"2026-11-21T10:00:00Z","source":"a","state":null}`, "is missing or empty"},
		{`{"t":1795255200,"source":"a","state":"b"}`, "not one JSON object of strings"},
		{`{"t":"2026-11-21T10:00:00Z","source":"a","state":"b","note":7}`, "not one JSON object of strings"},
		{`{"t":"2026-11-21 10:00:00","source":"a","state":"b"}`, "RFC 3339"},
		{`{"t":"2026-11-21T10:00:00","source":"a","state":"b"}`, "RFC 3339 with a zone"},
		{`{"t":"2026-13-21T10:00:00Z","source":"a","state":"b"}`, "RFC 3339"},
		{`{"t":"` + strings.Repeat("9", 1000) + `","source":"a","state":"b"}`, `9": write RFC 3339`},
		{
			`{"t":"2026-11-21T10:00:00Z","source":"` + strings.Repeat("a", maxEventName+1) + `","state":"b"}`,
			"is over 100 bytes",
		},
		{`{"note":"` + strings.Repeat("a", maxEventLine) + `"}`, "the line is over 64 KiB"},
	} {
		_, err := ReadEvents(strings.NewReader(good+"\n"+tt.line+"\n"+good), "ev")
		if err == nil || !strings.HasPrefix(err.Error(), "ev:3: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80s: %v, want ev:3 and %q", tt.line, err, tt.want)
		} else if len(err.Error()) > 500 {
			t.Errorf("%.80s: an error of %d bytes", tt.line, len(err.Error()))
		}
	}
}

// repeated reads text again and again.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

func TestReadEventsIsBounded(t *testing.T) {
	blank := &repeated{text: strings.Repeat(" ", 1000) + "\n"}
	if _, err := ReadEvents(blank, "ev"); err == nil || !strings.Contains(err.Error(), "the file is over 64 MiB") {
		t.Errorf("without end: %v", err)
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add(`{"t":"2026-11-21T10:00:00.123456789Z","source":"replica 1","state":"collecting"}` + "\n")
	f.Add("\ufeff{\"t\":\"2026-11-21T10:00:00+02:00\",\"source\":\"a\",\"state\":\"b\",\"note\":\"c\"}\r\n\n{")
	f.Add(`{"t":"0000-01-01T00:00:00Z","source":"\ud800","state":"\u0000"}`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ReadEvents(strings.NewReader(text), "ev")
		if err != nil {
			var line int
			if n, _ := fmt.Sscanf(err.Error(), "ev:%d: ", &line); n != 1 || line < 1 ||
				line > strings.Count(text, "\n")+1 {
				t.Fatalf("no line in %q", err)
			}
			return
		}
		var b bytes.Buffer
		for _, ev := range e.List {
			line, err := json.Marshal(map[string]any{
				"t": ev.Time, "source": ev.Source, "state": ev.State,
				"note": ev.Note,
			})
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(line, '\n'))
		}
		again, err := ReadEvents(&b, "ev")
		if err != nil {
			t.Fatalf("what was read is not read again: %v", err)
		}
		if d := cmp.Diff(e.List, again.List); d != "" {
			t.Errorf("-read +read again\n%s", d)
		}
	})
}
