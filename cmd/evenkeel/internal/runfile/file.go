// Package runfile reads, checks, merges and writes run.json, and reads events files.
package runfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// Version rises when a field changes its meaning.
const Version = 1

const maxFileBytes = 1 << 30

// File is run.json. See docs/reference/run-json.md.
type File struct {
	Version int     `json:"version"`
	Tool    string  `json:"tool"`
	Machine Machine `json:"machine"`
	Plan    *Plan   `json:"plan,omitempty"`
	Runs    []Run   `json:"runs"`
}

// Plan orders the runs, and says how to judge them.
type Plan struct {
	Variants []string `json:"variants"` // in the order of the command line

	Seed  uint64     `json:"seed"`
	Order [][]string `json:"order,omitempty"`

	Base    string   `json:"base,omitempty"`    // that ratios refer to; "": the first
	Figures []string `json:"figures,omitempty"` // default tailstat's

	// Looks is after how many rounds, at most, -until judged the runs.
	Looks int `json:"looks,omitempty"`
}

// Run is one load on one variant. nil means not measured.
type Run struct {
	Label   string   `json:"label"`           // runs of one label are repeats
	Repeat  int      `json:"repeat"`          // from 1
	Round   int      `json:"round,omitempty"` // from 1; 0: not in rounds
	Command []string `json:"command,omitempty"`
	Env     []string `json:"env,omitempty"`

	Load   *loadgen.Result `json:"load"`
	GC     *GC             `json:"gc,omitempty"`
	Alloc  *Alloc          `json:"alloc,omitempty"`
	Server *Server         `json:"server,omitempty"`

	Disturbance *Disturbance `json:"disturbance,omitempty"`

	Mix     *Mix   `json:"mix,omitempty"`
	PProf   string `json:"pprof,omitempty"`   // URL, of a service that ran already
	GCTrace string `json:"gctrace,omitempty"` // log of its collections

	Notes []string `json:"notes,omitempty"` // what was not measured

	Share  *Share `json:"share,omitempty"`
	Parts  []Part `json:"parts,omitempty"`
	Import string `json:"import,omitempty"` // format of another tool
}

// Window returns when a run was measured, if its file says so.
func (r *Run) Window() (from, to time.Time, ok bool) {
	from = r.Load.Started
	return from, from.Add(r.Load.Duration), !from.IsZero() && r.Load.Duration > 0
}

type Mix struct {
	File string  `json:"file,omitempty"`
	Seed *uint64 `json:"seed,omitempty"`
	Made int     `json:"made"`
}

// GC is from the first measured request to the last answer.
type GC struct {
	Source      string          `json:"source,omitempty"`
	Summary     gctrace.Summary `json:"summary"`
	Collections []Collection    `json:"collections"`
}

// Sizes are in bytes, times in ns.
type Collection struct {
	At     time.Duration `json:"at"`
	Wall   time.Duration `json:"wall"`
	Pause  time.Duration `json:"pause"` // part of Wall
	Before int64         `json:"before"`
	After  int64         `json:"after"`
	Live   int64         `json:"live"`
}

type Alloc struct {
	Bytes  int64  `json:"bytes"`
	Source string `json:"source"`

	Sampled int64  `json:"sampled_bytes,omitempty"` // from the profile, which samples
	Lines   []Site `json:"lines,omitempty"`         // by Flat, innermost outside the standard library
}

// Sources of GC and of Alloc.Bytes.
const (
	FromTrace    = "gctrace"
	FromMemStats = "runtime.MemStats" // without GC's times, heap sizes and Collections
)

type Site struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitempty"`
	Flat int64  `json:"flat"`
}

// Server is what the operating system says of the service.
type Server struct {
	PeakRSSBytes int64         `json:"peak_rss_bytes,omitempty"`
	CPU          time.Duration `json:"cpu_ns,omitempty"`
	Exit         string        `json:"exit,omitempty"`
}

func (f *File) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(f)
}

func Read(r io.Reader) (*File, error) {
	var f File
	d := json.NewDecoder(io.LimitReader(r, maxFileBytes))
	if err := d.Decode(&f); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, errors.New("cut off, or empty: write it again with evenkeel run -o or evenkeel load -o")
		}
		return nil, fmt.Errorf("not a file that evenkeel wrote: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the end of it: give each run.json as a file of its own")
	}
	switch {
	case f.Version < 1:
		return nil, errors.New("not a file that evenkeel wrote: it has no version")
	case f.Version > Version:
		return nil, fmt.Errorf("version %d is newer than this evenkeel reads (%d): update evenkeel", f.Version, Version)
	case len(f.Runs) == 0:
		return nil, errors.New("no runs in it")
	case f.Plan != nil && (f.Plan.Looks < 0 || f.Plan.Looks > tailstat.MaxRounds):
		return nil, fmt.Errorf("plan: %d looks are not from 0 to %d", f.Plan.Looks, tailstat.MaxRounds)
	}
	for i, r := range f.Runs {
		if r.Load == nil {
			return nil, fmt.Errorf("runs[%d] (%q) has no load", i, r.Label)
		}
		if n := r.Load.Latency.Count(); n < 0 || r.Load.Duration < 0 {
			return nil, fmt.Errorf("runs[%d] (%q): negative duration or count", i, r.Label)
		}
	}
	return &f, nil
}

type Machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Kernel      string `json:"kernel,omitempty"`
	CPU         string `json:"cpu,omitempty"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
	Go          string `json:"go"`
}

// ThisMachine reads proc(5) on Linux.
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	m.CPU = procField("/proc/cpuinfo", "model name")
	var kib int64
	if _, err := fmt.Sscanf(procField("/proc/meminfo", "MemTotal"), "%d kB", &kib); err == nil {
		m.MemoryBytes = kib << 10
	}
	return m
}

func procField(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		k, v, _ := strings.Cut(sc.Text(), ":")
		if strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Tool names the version, which has the commit in a build from the repository.
func Tool() string {
	bi, ok := debug.ReadBuildInfo()
	if !ok || bi.Main.Version == "" {
		return "evenkeel devel"
	}
	return "evenkeel " + strings.Trim(bi.Main.Version, "()")
}

func (m Machine) String() string {
	if m == (Machine{}) {
		return "a machine that its file does not describe"
	}
	parts := []string{fmt.Sprintf("%d cores", m.Cores)}
	if m.CPU != "" {
		parts[0] += " of " + m.CPU
	}
	if m.MemoryBytes > 0 {
		parts = append(parts, textfmt.Bytes(float64(m.MemoryBytes)))
	}
	parts = append(parts, strings.TrimSpace(m.OS+"/"+m.Arch+" "+m.Kernel), m.Go)
	return strings.Join(parts, ", ")
}

const (
	maxEventsBytes = 64 << 20
	maxEventLine   = 64 << 10
	maxEventName   = 100 // of a source or a state
)

// Event says that a source enters a state, until its next line.
type Event struct {
	Time   time.Time
	Source string
	State  string
	Note   string
}

// Events is an events file. See docs/reference/events.md.
type Events struct {
	Name  string
	List  []Event
	Notes []string // what was left out, and why
}

// ReadEvents reads a JSON object from each line.
func ReadEvents(r io.Reader, name string) (*Events, error) {
	e := &Events{Name: name}
	in := bufio.NewReaderSize(io.LimitReader(r, maxEventsBytes+1), maxEventLine)
	for line, size := 1, 0; ; line++ {
		text, err := in.ReadSlice('\n')
		size += len(text)
		fail := func(format string, a ...any) (*Events, error) {
			return nil, fmt.Errorf("%s:%d: %w", name, line, fmt.Errorf(format, a...))
		}
		last := errors.Is(err, io.EOF)
		switch {
		case size > maxEventsBytes:
			return fail("the file is over %s: keep the lines of the time that was measured",
				textfmt.Bytes(maxEventsBytes))
		case errors.Is(err, bufio.ErrBufferFull):
			return fail("the line is over %s: write one object a line, and short notes", textfmt.Bytes(maxEventLine))
		case err != nil && !last:
			return nil, err
		}
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		switch text = bytes.TrimSpace(text); {
		case len(text) == 0:
		case last && text[0] == '{' && !json.Valid(text):
			e.Notes = append(e.Notes, fmt.Sprintf("%s:%d: the last line is cut off and was left out", name, line))
		default:
			ev, err := parseEvent(text)
			if err != nil {
				return fail("%w", err)
			}
			e.List = append(e.List, ev)
		}
		if last {
			return e, nil
		}
	}
}

func parseEvent(text []byte) (ev Event, err error) {
	var line struct{ T, Source, State, Note string }
	if err := json.Unmarshal(text, &line); err != nil {
		return ev, fmt.Errorf(`not one JSON object of strings: write {"t":"2026-11-21T10:00:00.5Z","source":"NAME",`+
			`"state":"WORD"} on a line of its own (%w)`, err)
	}
	for _, name := range []string{line.Source, line.State} {
		switch {
		case strings.TrimSpace(name) == "":
			return ev, errors.New("source or state is missing or empty: each line needs t, source and state")
		case len(name) > maxEventName:
			return ev, fmt.Errorf("%.20q... is over %d bytes: shorten it, and put what is long into note", name,
				maxEventName)
		}
	}
	t, err := time.Parse(time.RFC3339, line.T)
	if err != nil {
		return ev, fmt.Errorf("t is %.60q: write RFC 3339 with a zone, such as 2026-11-21T10:00:00.5Z", line.T)
	}
	return Event{t, line.Source, line.State, line.Note}, nil
}
