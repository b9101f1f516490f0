package runfile

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// Share is part Index, from 0, of a load.
type Share struct {
	Index int `json:"index"`
	Of    int `json:"of"`
}

func (s Share) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

type Part struct {
	File        string        `json:"file"`
	Machine     Machine       `json:"machine"`
	Share       *Share        `json:"share,omitempty"`
	Rate        float64       `json:"rate,omitempty"`
	Connections int           `json:"connections"`
	Started     time.Time     `json:"started"`
	Duration    time.Duration `json:"duration_ns"`
	Answered    int64         `json:"answered"`
	Failed      int64         `json:"failed"`
	Late        int64         `json:"late,omitempty"`
	LateMax     time.Duration `json:"late_max_ns,omitempty"`
	Disturbance *Disturbance  `json:"disturbance,omitempty"`
}

type MergeOptions struct {
	// Skew is how far apart windows may begin, and how much longer one may be.
	Skew time.Duration

	// AllowLate accepts generators that sent over 1% of their requests more than 1 ms late or not
	// at all.
	AllowLate bool
}

// Merge adds up the files of several generators of one load.
func Merge(files []*File, names []string, o MergeOptions) (*File, error) {
	if len(files) < 2 {
		return nil, errors.New("one file cannot be merged: name the files of all generators")
	}
	first := files[0]
	sum := &File{Version: first.Version, Tool: first.Tool, Machine: first.Machine}
	for i, f := range files[1:] {
		if f.Tool != first.Tool {
			return nil, fmt.Errorf("%s was measured by %q, and %s by %q: measure on all machines with the same "+
				"evenkeel", names[i+1], f.Tool, names[0], first.Tool)
		}
		sum.Machine = common(sum.Machine, f.Machine)
	}
	for k := range first.Runs {
		m := merger{o: o}
		for i, f := range files {
			if len(f.Runs) != len(first.Runs) {
				return nil, fmt.Errorf("%s has %d runs, and %s has %d: give files of the same runs", names[i],
					len(f.Runs), names[0], len(first.Runs))
			}
			is := func(r Run) bool { return r.Label == first.Runs[k].Label && r.Repeat == first.Runs[k].Repeat }
			at := slices.IndexFunc(f.Runs, is)
			if at < 0 {
				return nil, fmt.Errorf("%s has no run %q, repeat %d, and %s has: measure on all machines with the "+
					"same -label", names[i], first.Runs[k].Label, first.Runs[k].Repeat, names[0])
			}
			m.runs = append(m.runs, source{&f.Runs[at], names[i], f.Machine})
		}
		run, err := m.merge()
		if err != nil {
			return nil, err
		}
		sum.Runs = append(sum.Runs, *run)
	}
	return sum, nil
}

type merger struct {
	o    MergeOptions
	runs []source
}

// source is a run and the file that it is from.
type source struct {
	*Run
	name    string
	machine Machine
}

func (m *merger) merge() (*Run, error) {
	if err := errors.Join(m.oneService(), m.twice(), m.shares(), m.windows(), m.rates()); err != nil {
		return nil, err
	}
	mix, err := m.mix()
	if err != nil {
		return nil, err
	}
	var loads []*loadgen.Result
	for _, r := range m.runs {
		loads = append(loads, r.Load)
	}
	load, err := loadgen.Merge(loads...)
	if err != nil {
		if me, ok := errors.AsType[*loadgen.MergeError](err); ok {
			err = fmt.Errorf("%s: %s", m.runs[me.Index].name, me.Reason)
		}
		return nil, err
	}
	sum := &Run{
		Label: m.runs[0].Label, Repeat: m.runs[0].Repeat, Round: m.runs[0].Round, Load: load, Mix: mix,
		Import: m.runs[0].Import,
	}
	for _, r := range m.runs {
		sum.Parts = append(sum.Parts, r.parts()...)
	}
	m.service(sum)
	m.notes(sum)
	return sum, nil
}

func (r *source) parts() []Part {
	if len(r.Parts) > 0 {
		return r.Parts
	}
	l := r.Load
	return []Part{{
		File: r.name, Machine: r.machine, Share: r.Share, Rate: l.Rate, Connections: l.Connections, Started: l.Started,
		Duration: l.Duration,
		Answered: l.Answered, Failed: l.Failed, Late: l.Late, LateMax: l.LateMax, Disturbance: r.Disturbance,
	}}
}

func (m *merger) oneService() error {
	first := m.runs[0]
	for _, r := range m.runs {
		switch {
		case len(r.Command) > 0:
			return fmt.Errorf("%s: evenkeel run started a service of its own for it, so these are several services "+
				"and not several generators of one: put them side by side with evenkeel compare, or measure with "+
				"evenkeel load", r.name)
		case r.Import != first.Import:
			return fmt.Errorf("%s and %s were measured by different tools, whose latencies count from different "+
				"moments: add those of one tool", first.name, r.name)
		}
	}
	return nil
}

func (m *merger) mix() (*Mix, error) {
	first := *cmp.Or(m.runs[0].Mix, &Mix{})
	sum := first
	for _, r := range m.runs {
		is := cmp.Or(r.Mix, &Mix{})
		if is.File != first.File || is.Made != first.Made {
			return nil, fmt.Errorf("%s: its requests are %d of %q, and those of %s %d of %q: give all the same file "+
				"of targets", r.name, is.Made, is.File, m.runs[0].name, first.Made, first.File)
		}
		if !reflect.DeepEqual(is.Seed, first.Seed) {
			sum.Seed = nil
		}
	}
	if m.runs[0].Mix == nil {
		return nil, nil
	}
	return &sum, nil
}

func (m *merger) twice() error {
	for i, r := range m.runs {
		for _, other := range m.runs[:i] {
			if r.Load.Requests() > 0 && r.Load.Started.Equal(other.Load.Started) &&
				reflect.DeepEqual(r.Load, other.Load) {
				return fmt.Errorf("%s and %s are the same run: give each generator's file once", other.name, r.name)
			}
		}
	}
	return nil
}

func (m *merger) shares() error {
	var of int
	has := map[int]string{}
	for _, r := range m.runs {
		switch s := r.Share; {
		case s == nil:
			continue
		case s.Of < 1 || s.Index < 0 || s.Index >= s.Of:
			return fmt.Errorf("%s says that it is share %v, which there is not: the file was changed or damaged; "+
				"collect it or measure again", r.name, s)
		case of != 0 && s.Of != of:
			return fmt.Errorf("%s is share %v, and another is one of %d: give the files of one load", r.name, s, of)
		case has[s.Index] != "":
			return fmt.Errorf("%s and %s are both share %v: give each generator's file once", has[s.Index], r.name, s)
		default:
			of = s.Of
			has[s.Index] = r.name
		}
	}
	if of == 0 {
		return nil
	}
	if len(has) < len(m.runs) {
		return errors.New("some files are shares of a load, and some are not: give the files of one load")
	}
	var missing []string
	for i := range of {
		if has[i] == "" && len(missing) < 10 {
			missing = append(missing, Share{i, of}.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%d of %d shares are not there, such as %s: collect their files too; a load with a share "+
			"missing was not the load that was asked for", of-len(has), of, strings.Join(missing, ", "))
	}
	return nil
}

func (r *Run) due() time.Duration {
	if s := r.Load.Series; len(s.Points) > 0 {
		return time.Duration(len(s.Points)) * s.Interval
	}
	return r.Load.Duration
}

func (m *merger) windows() error {
	for _, r := range m.runs {
		if r.Load.Started.IsZero() != m.runs[0].Load.Started.IsZero() {
			return fmt.Errorf("%s and %s: one of them does not say when it was measured: give files of one tool",
				m.runs[0].name, r.name)
		}
	}
	byLength := func(a, b source) int { return cmp.Compare(a.due(), b.due()) }
	first, last := slices.MinFunc(m.runs, byStart), slices.MaxFunc(m.runs, byStart)
	short, long := slices.MinFunc(m.runs, byLength), slices.MaxFunc(m.runs, byLength)
	const todo = "; start all of them together for the same time, as with evenkeel load -start and -z, or say with " +
		"-skew what is near enough"
	if d := last.Load.Started.Sub(first.Load.Started); d > m.o.Skew {
		return fmt.Errorf("the window of %s began %s after that of %s, and the sum of loads from different times is "+
			"no load%s", last.name, textfmt.Duration(d), first.name, todo)
	}
	d := long.due() - short.due() - max(short.Load.Series.Interval, long.Load.Series.Interval)
	if d > m.o.Skew {
		return fmt.Errorf("%s was loaded for %s, and %s for %s%s", short.name, textfmt.Duration(short.due()), long.name,
			textfmt.Duration(long.due()), todo)
	}
	return nil
}

func late(l *loadgen.Result) string {
	var list []string
	if l.Rate > 0 && float64(l.Late) > .01*float64(l.Requests()) {
		list = append(list, fmt.Sprintf("%s of %s requests were sent more than 1 ms late",
			textfmt.Count(float64(l.Late)), textfmt.Count(float64(l.Requests()))))
	}
	if n := l.FailedBy(loadgen.ClassUnsent); n > 0 {
		list = append(list, textfmt.Count(float64(n))+" were not sent")
	}
	if n := l.FailedBy(loadgen.ClassGenerator); n > 0 {
		list = append(list, textfmt.Count(float64(n))+" failed by the load generator's own limit")
	}
	return strings.Join(list, ", ")
}

func (m *merger) rates() error {
	for _, r := range m.runs {
		if why := late(r.Load); why != "" && !m.o.AllowLate {
			return fmt.Errorf("%s: %s, so that the rate was not kept: lower it, or spread it over more generators or "+
				"connections; -allow-late adds it all the same, and notes it", r.name, why)
		}
	}
	return nil
}

// service keeps the service's figures if only one generator has them.
func (m *merger) service(sum *Run) {
	var who []source
	for _, r := range m.runs {
		if r.GC != nil || r.Alloc != nil || r.Server != nil {
			who = append(who, r)
		}
	}
	switch len(who) {
	case 0:
	case 1:
		sum.GC, sum.Alloc, sum.Server, sum.PProf, sum.GCTrace = who[0].GC, who[0].Alloc, who[0].Server, who[0].PProf,
			who[0].GCTrace
	default:
		sum.Notes = append(sum.Notes, fmt.Sprintf("%d generators have figures of the service's own, and each saw all "+
			"of its work: they are left out; have one generator look", len(who)))
	}
}

func byStart(a, b source) int { return a.Load.Started.Compare(b.Load.Started) }

func (m *merger) notes(sum *Run) {
	from, to := slices.MinFunc(m.runs, byStart).Load.Started, slices.MaxFunc(m.runs, byStart).Load.Started
	when := "with no time of their windows"
	if !from.IsZero() {
		when = "their windows began within " + textfmt.Duration(to.Sub(from)) + " by their clocks"
	}
	sum.Notes = append(sum.Notes, fmt.Sprintf("added up from %d generators; %s", len(sum.Parts), when))
	for _, r := range m.runs {
		if why := late(r.Load); why != "" {
			sum.Notes = append(sum.Notes, fmt.Sprintf("%s did not keep its rate: %s", r.name, why))
		}
		for _, taken := range r.Disturbance.Taken() {
			sum.Notes = append(sum.Notes, r.name+": "+taken.String())
		}
		for _, n := range r.Notes {
			if !slices.Contains(sum.Notes, n) {
				sum.Notes = append(sum.Notes, n)
			}
		}
	}
}

func common(a, b Machine) Machine {
	if a == b {
		return a
	}
	alike := func(a, b string) string {
		if a == b {
			return a
		}
		return ""
	}
	return Machine{
		OS: cmp.Or(alike(a.OS, b.OS), "several"), Arch: cmp.Or(alike(a.Arch, b.Arch), "several"),
		Kernel: alike(a.Kernel, b.Kernel), CPU: alike(a.CPU, b.CPU),
		Cores: min(a.Cores, b.Cores), MemoryBytes: min(a.MemoryBytes, b.MemoryBytes),
		Go: cmp.Or(alike(a.Go, b.Go), "several versions of Go"),
	}
}
