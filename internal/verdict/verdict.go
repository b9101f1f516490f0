// Package verdict says in words why a service's slowest requests were slow, from a report of
// package reqtrace.
//
// It compares the slowest 1% of the requests (p99+) with the median request, which is the mean from
// the 45th to the 55th percentile. The difference is the excess. Each cause has a share of it, and
// the shares add up to 1. [Compare] does the same for two versions of a service.
package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

const (
	worthTimes  = 2 // p99+ takes more than so many times the median
	worthTime   = time.Millisecond
	worthShare  = .1 // of the excess: a cause that is named next to the first
	worthCauses = 4
	worthSite   = .5  // of a cause's excess: a detail that is named with it
	worthSample = .3  // of samples, at the low end of the interval
	fewRequests = 10  // in p99+
	manyCut     = .05 // of all requests
	muchUnknown = .01 // of the time of p99+
	muchSteal   = .02
)

// Verdict says what makes the slowest 1% of the requests slower than the median request.
type Verdict struct {
	Sentence string   `json:"sentence"`
	Fix      string   `json:"fix,omitempty"`
	Figures  []string `json:"figures"`
	LeftOut  []string `json:"left_out"`
	// the excess is worth naming, and its first cause is certain
	Named  bool          `json:"named"`
	Excess time.Duration `json:"excess_ns"`
	Causes []NamedCause  `json:"causes"` // the largest first, those of one line together
	GC     struct {
		// part of the excess that requests lost to the collector, from 0 to 1
		Direct float64 `json:"direct"`
	} `json:"gc"`
	Class   *SlowClass `json:"class,omitempty"` // of the slowest 1%, if the rest are of others
	Caveats []string   `json:"caveats"`

	report *reqtrace.Report
}

// NamedCause is a cause with its part of the excess.
type NamedCause struct {
	// Its cause is the larger one of both assists. The other fields are what at least half of it has in
	// common. Time is 0.
	reqtrace.Blame

	Phrase string        `json:"phrase"`
	Share  float64       `json:"share"`
	Excess time.Duration `json:"excess_ns"`
	// for a CPU, by the holder or the request; not in Excess
	Waited time.Duration `json:"waited_ns,omitzero"`

	behind time.Duration // part of Excess that counts as Waited of others

	Guide string `json:"guide"`
	Mends string `json:"mends"`
}

// Of returns the verdict on a report. Do not change the report afterwards.
func Of(r *reqtrace.Report) *Verdict {
	v := &Verdict{Causes: []NamedCause{}, Figures: []string{}, LeftOut: leftOut(r), report: r}
	causes := namedCauses(r)
	v.Caveats = caveats(r, causes)
	if r.Requests == 0 {
		v.Sentence = fmt.Sprintf("No request is whole in %s of trace. Trace for longer.", textfmt.Duration(r.Trace))
		return v
	}
	v.Excess = r.Tail.Mean - r.Median.Mean
	v.GC.Direct = r.Tail.Share(gcCauses...)
	v.Causes = causes
	doubt := v.doubt()
	v.Named = worth(r) && len(v.Causes) > 0 && doubt == ""
	v.Sentence = v.sentence(doubt)
	v.Class = slowClass(r)
	if v.Named {
		v.Fix = v.Causes[0].fix()
	}
	v.Figures = v.figures()
	return v
}

func (v *Verdict) Report() *reqtrace.Report { return v.report }

func worth(r *reqtrace.Report) bool {
	return r.Tail.Mean-r.Median.Mean >= worthTime && r.Tail.Mean > worthTimes*r.Median.Mean
}

func (v *Verdict) sentence(doubt string) string {
	switch {
	case v.Named:
		if same := v.sameLine(); len(same) > 1 {
			return lineHeadline(same)
		}
		return v.Causes[0].headline() + v.throttled()
	case doubt != "":
		c := &v.Causes[0]
		b := c.Blame
		b.Longest = 0
		return fmt.Sprintf("No cause is certain. %s of the extra time is %s. %s", textfmt.Share(c.Share), Words(&b),
			doubt)
	case v.Excess <= 0:
		return "No cause to name. The slowest 1% take as long as the median request."
	}
	return fmt.Sprintf("No cause to name. The slowest 1%% take only %s more than the median request.",
		textfmt.Duration(v.Excess))
}

// shown returns the causes that are named: at most four, with a tenth of the excess or more.
func (v *Verdict) shown() []NamedCause {
	if !v.Named {
		return nil
	}
	n := 1
	for n < min(len(v.Causes), worthCauses) && v.Causes[n].whole() >= worthShare {
		n++
	}
	return v.Causes[:n]
}

// namedCauses returns all that p99+ takes more of than the median. Both kinds of assist are one,
// because they differ by how busy the workers are.
func namedCauses(r *reqtrace.Report) []NamedCause {
	list := []NamedCause{}
	for _, first := range causeOrder {
		n := NamedCause{}
		n.Cause = first
		causes := slices.DeleteFunc(reqtrace.Causes(), func(c reqtrace.Cause) bool { return Joined(c) != first })
		for _, c := range causes {
			n.Excess += max(r.Tail.Excess.Of(c), 0)
			if r.Tail.Excess.Of(c) > r.Tail.Excess.Of(n.Cause) {
				n.Cause = c
			}
		}
		if n.Excess == 0 {
			continue
		}
		n.Phrase, n.Share = Phrase(n.Cause), r.Tail.Share(causes...)
		locate(&n, slices.DeleteFunc(places(r), func(p Place) bool { return Joined(p.Cause) != first }))
		k := n.kind()
		n.Guide, n.Mends = guidePath+"#"+k.anchor, k.mends
		if n.Cause == reqtrace.CauseRunning {
			at := runningAt(&r.Tail)
			n.Site, n.Handler = at.Site, at.Handler
		}
		list = append(list, n)
	}
	byLine := map[string]time.Duration{}
	for i := range list {
		byLine[list[i].line()] += list[i].Excess
	}
	dilated(r, list)
	rank := func(n *NamedCause) time.Duration {
		if line := n.line(); line != "" {
			return byLine[line] + n.Waited
		}
		return n.Excess + n.Waited - n.behind
	}
	slices.SortStableFunc(list, func(a, b NamedCause) int {
		return cmp.Or(cmp.Compare(rank(&b), rank(&a)), cmp.Compare(b.Excess, a.Excess))
	})
	return list
}

// enoughSamples is how many samples a band needs for a list of its functions. A function that has all
// of so many has at least 56% of the time, at 95% confidence.
const enoughSamples = 5

// runningAt returns where most of a band's running is, if its samples show that.
func runningAt(b *reqtrace.Band) reqtrace.Sample {
	if sampled(b) < enoughSamples || b.Samples[0].Low < worthSample {
		return reqtrace.Sample{}
	}
	return b.Samples[0]
}

func sampled(b *reqtrace.Band) (n int) {
	for _, s := range b.Samples {
		n += s.Count
	}
	return n
}

func caveats(r *reqtrace.Report, causes []NamedCause) []string {
	list := []string{}
	add := func(format string, a ...any) { list = append(list, fmt.Sprintf(format, a...)) }
	if r.Broken != "" {
		add("The trace is cut off or corrupt. The report covers only the %s before that. Take it again, and wait "+
			"for its end (%s).", textfmt.Duration(r.Trace), r.Broken)
	}
	if r.Requests == 0 {
		return list
	}
	if n := r.Tail.Requests; n < fewRequests {
		add("p99+ is %s of %s. Trace for longer, or under more load, before you believe its shares.",
			textfmt.Plural(n, "request"), textfmt.Count(float64(r.Requests)))
	}
	if cut := r.CutStart + r.CutEnd; float64(cut) > manyCut*float64(r.Requests+cut) {
		add("The trace's edges cut off %s, next to %s whole ones. The slowest are the likeliest to be cut; trace "+
			"for longer.", textfmt.Plural(cut, "request"), textfmt.Count(float64(r.Requests)))
	}
	if r.Sampled > 0 {
		add("The figures are of one in %d of the %s requests, chosen by chance. More do not fit.", r.Sampled,
			textfmt.Count(float64(r.Requests)))
	}
	for _, p := range r.Missing {
		add("No function of the trace matches %q, so it found no request.", p)
	}
	if u := r.Tail.Parts.Share(reqtrace.CauseUnknown); u > muchUnknown {
		add("%s of the time of p99+ is unknown.", textfmt.Percent(u*100))
	}
	return append(list, doubts(r, causes)...)
}

// Doubts returns those of the Caveats that are about the machine and the first cause.
func (v *Verdict) Doubts() []string { return doubts(v.report, v.Causes) }

func doubts(r *reqtrace.Report, causes []NamedCause) (list []string) {
	add := func(format string, a ...any) { list = append(list, fmt.Sprintf(format, a...)) }
	if len(causes) == 0 || !worth(r) {
		return machineCaveats(&r.Machine)
	}
	if first := &causes[0]; first.Cause == reqtrace.CauseRunning {
		if r.Machine.Threads == 0 {
			add("Running includes what the kernel and the hypervisor took from single threads. See that the machine " +
				"has CPUs to spare.")
		}
		if runningAt(&r.Tail).Site == "" {
			add("The CPU profile has %s of the running of p99+. No function has %s of it for sure; %s.",
				textfmt.Plural(sampled(&r.Tail), "sample"), textfmt.Share(worthSample), moreSamples(r))
		}
	} else if waits(first.Cause) && first.Doing == reqtrace.CauseRunning && r.Samples == 0 && r.Machine.Threads == 0 {
		add("The trace does not show whether the holder computed or waited for a CPU. Take a CPU profile during the " +
			"trace, as evenkeel explain URL does.")
	}
	return append(list, machineCaveats(&r.Machine)...)
}

func moreSamples(r *reqtrace.Report) string {
	if r.Samples == 0 {
		return "trace while a CPU profile runs, as evenkeel explain URL does by itself"
	}
	return "trace for longer, or under more load"
}

func machineCaveats(m *reqtrace.Machine) (list []string) {
	add := func(format string, a ...any) { list = append(list, fmt.Sprintf(format, a...)) }
	if m.Stalls > 0 {
		add("The machine stood still for at most %s, and held up %s. No CPU did anything then, though there was work.",
			textfmt.Duration(m.Longest), textfmt.Plural(m.Requests, "request"))
	}
	if m.Steal >= muchSteal {
		add("The hypervisor took %s of the CPUs' time during the trace (steal).", textfmt.Percent(100*m.Steal))
	}
	if m.Grid > 0 {
		add("A CPU quota is likely, because %s of all CPUs ended at the same point of each 100 ms. Read its "+
			"cpu.stat during the trace (-cpu-stat).", textfmt.Plural(m.Grid, "silence"))
	}
	return list
}

// Places returns the places of the slowest 1%.
func (v *Verdict) Places() []Place { return places(v.report) }

// Running returns the functions that the slowest 1% ran in.
func (v *Verdict) Running() []reqtrace.Sample {
	if sampled(&v.report.Tail) < enoughSamples {
		return nil
	}
	return v.report.Tail.Samples
}

func (v *Verdict) Scope() string {
	r, how := v.report, "without marks"
	if r.Marked {
		how = "marked by regions"
	}
	t := fmt.Sprintf("%s (%s) in %s, GOMAXPROCS %d", textfmt.Plural(r.Requests, "whole request"), how,
		textfmt.Duration(r.Trace), r.Procs)
	if r.Class != "" {
		t = fmt.Sprintf("class %s: %s", r.Class, t)
	}
	return t
}
