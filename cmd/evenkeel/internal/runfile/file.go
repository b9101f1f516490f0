package runfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"evenkeel.dev/gctrace"
	"evenkeel.dev/loadgen"
)

// Version is the version of run.json that this package writes, and the newest that it reads.
// It rises when a field changes its meaning; new fields do not raise it.
const Version = 1

// MaxLooks is how often the runs of a plan may be judged.
const MaxLooks = 200

// maxFileBytes bounds what ReadFile takes.
const maxFileBytes = 1 << 30

// File is run.json: runs measured on one machine. docs/reference/run-json.md describes it.
type File struct {
	Version int     `json:"version"`
	Tool    string  `json:"tool"` // "evenkeel" and its version
	Machine Machine `json:"machine"`
	Plan    *Plan   `json:"plan,omitempty"`  // of evenkeel run
	Floor   *Floor  `json:"floor,omitempty"` // of evenkeel run -aa
	Runs    []Run   `json:"runs"`
}

// Plan is in which order runs were measured, and how they are to be judged.
type Plan struct {
	Variants []string `json:"variants"` // labels, in the order in which they were given

	Seed  uint64     `json:"seed"`            // of the lots
	Order [][]string `json:"order,omitempty"` // labels of each round, as they were drawn

	Base    string   `json:"base,omitempty"`    // label that ratios refer to; "": the first
	Figures []string `json:"figures,omitempty"` // that are judged; none: the usual ones

	// Looks is the number of rounds after each of which, at the latest, the runs were judged so
	// that measuring might end: their intervals are wide enough for all of these looks together. 0:
	// the number of rounds was fixed.
	Looks int `json:"looks,omitempty"`
}

// Floor is one variant measured twice in each round, before the runs: what differs between the two
// is the machine's.
type Floor struct {
	First  []Run `json:"first"`
	Second []Run `json:"second"`
}

// Run is one load on one variant of a service. Parts that were not measured are nil.
type Run struct {
	Label  string `json:"label"`  // of the variant; runs of one label are repeats
	Repeat int    `json:"repeat"` // from 1
	// from 1: in which the variants ran one after another, in random order; 0: in none
	Round   int      `json:"round,omitempty"`
	Command []string `json:"command,omitempty"` // of the service, with the variant's arguments
	Env     []string `json:"env,omitempty"`     // NAME=VALUE that the variant added

	Load   *loadgen.Result `json:"load"`
	GC     *GC             `json:"gc,omitempty"`
	Alloc  *Alloc          `json:"alloc,omitempty"`
	Server *Server         `json:"server,omitempty"`

	Disturbance *Disturbance `json:"disturbance,omitempty"`

	// where the requests are from, if not from the command line as they stand there
	Mix     *Mix   `json:"mix,omitempty"`
	PProf   string `json:"pprof,omitempty"`   // URL from which the figures of a service are that ran already
	GCTrace string `json:"gctrace,omitempty"` // log from which its collections are

	Notes []string `json:"notes,omitempty"` // what could not be measured, or went wrong, and why

	Share  *Share  `json:"share,omitempty"`  // of a load that several generators put on; nil: all of it
	Parts  []Part  `json:"parts,omitempty"`  // of a run that Merge made: the generators that it was added up from
	Import *Import `json:"import,omitempty"` // of a run that another tool measured
}

// Window returns when a run was measured; ok is false when its file does not say.
func (r *Run) Window() (from, to time.Time, ok bool) {
	from = r.Load.Started
	return from, from.Add(r.Load.Duration), !from.IsZero() && r.Load.Duration > 0
}

// Mix says how requests were made.
type Mix struct {
	File string  `json:"file,omitempty"` // of targets
	Seed *uint64 `json:"seed,omitempty"` // of templates; absent without any
	Made int     `json:"made"`           // different requests; then again from the first
}

// GC is what the collector did in the window from the first measured request to the last
// answer.
type GC struct {
	Source      string          `json:"source,omitempty"` // GCFromTrace or GCFromMemStats
	Summary     gctrace.Summary `json:"summary"`
	Collections []Collection    `json:"collections"`
}

// Collection is one collection on the time line of a run.
type Collection struct {
	At     time.Duration `json:"at"`    // start, since the first measured request was due; ns
	Wall   time.Duration `json:"wall"`  // ns
	Pause  time.Duration `json:"pause"` // stop-the-world part of Wall; ns
	Before int64         `json:"before"`
	After  int64         `json:"after"`
	Live   int64         `json:"live"` // bytes, as Before and After
}

// Alloc is what the service allocated in the window.
type Alloc struct {
	Bytes  int64  `json:"bytes"`
	Source string `json:"source"` // AllocFromMemStats or AllocFromTrace

	// The allocation profile samples: its bytes are near Bytes, not the same.
	Sampled    int64  `json:"sampled_bytes,omitempty"`
	Flat       []Site `json:"flat,omitempty"`       // functions by Flat
	Cumulative []Site `json:"cumulative,omitempty"` // functions by Cum, without the standard library's
	// by Flat: for each stack the innermost line outside the standard library
	Lines []Site `json:"lines,omitempty"`
}

// Where a GC can come from.
const (
	GCFromTrace    = "gctrace"          // all of it
	GCFromMemStats = "runtime.MemStats" // without CPU time, clock time and heap sizes, and without Collections
)

// Where Alloc.Bytes can come from.
const (
	AllocFromMemStats = "runtime.MemStats" // exact
	AllocFromTrace    = "gctrace"          // estimate, see gctrace.Summarize
)

// Site is a place that allocates, by its allocation profile (sampled).
type Site struct {
	Name string `json:"name"` // function
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitempty"`
	Flat int64  `json:"flat"`          // bytes allocated there
	Cum  int64  `json:"cum,omitempty"` // bytes allocated there and in what it called; not of a line
}

// Server is what the operating system says of the service's process.
type Server struct {
	PeakRSSBytes int64         `json:"peak_rss_bytes,omitempty"`
	CPU          time.Duration `json:"cpu_ns,omitempty"` // user and system; of a service that evenkeel started
	Exit         string        `json:"exit,omitempty"`   // how that ended
}

// Write writes f as indented JSON.
func (f *File) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(f)
}

// Read reads what Write wrote.
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
	case f.Plan != nil && (f.Plan.Looks < 0 || f.Plan.Looks > MaxLooks):
		return nil, fmt.Errorf("plan: %d looks are not from 0 to %d", f.Plan.Looks, MaxLooks)
	}
	sets := map[string][]Run{"runs": f.Runs}
	if f.Floor != nil {
		sets["floor.first"], sets["floor.second"] = f.Floor.First, f.Floor.Second
	}
	for name, runs := range sets {
		for i, r := range runs {
			if r.Load == nil {
				return nil, fmt.Errorf("%s[%d] (%q) has no load", name, i, r.Label)
			}
			if n := r.Load.Latency.Count(); n < 0 || r.Load.Duration < 0 {
				return nil, fmt.Errorf("%s[%d] (%q): negative duration or count", name, i, r.Label)
			}
		}
	}
	return &f, nil
}
