package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// When a difference between two sides is worth naming.
const (
	// of the mean of the slowest 1% of the old side: less is not named, and not tested
	changeShare  = .05
	changeTime   = 20 * time.Microsecond // likewise
	changeDetail = .5                    // of a row's difference: a function, a holder or a class that is named with it
	// one trace a side: a difference is this many times as far from 0 as its interval reaches
	aloneTimes = 3
	aloneShare = .25 // and at least this share of the old side's mean
	otherLoad  = .1  // requests a second differ by more: it is said
	otherMix   = .02 // of all requests: so much a class may gain before it is said
	fewSlow    = 30  // requests in the slowest 1% of a side; of fewer it is said
)

// ChangeOptions configure [Compare]. The zero value works.
type ChangeOptions struct {
	// Old and New are how the sides are called. Default: "old" and "new".
	Old, New string
	// Confidence is how likely all intervals that decide on names hold together. Default: 0, which
	// is 0.95; limits: 0.5 to 0.9999.
	Confidence float64
}

// Change says what made the slowest 1% of the requests slower, or faster, from one version of a service to another.
// [Compare] makes it; nothing in it changes afterwards, so any goroutine may read it.
//
// The mean of the slowest 1% of a side is over all of its traces, each with the same weight. Unlike
// a p99 it can be taken apart: the differences of Rows add up to that of Slow, with what a changed
// mix of classes did (see [ClassChange]), and so do those of ByCause; those of all requests add up
// to All. In Rows, ByCause and Classes, Slow is of what requests take beyond the time at which the
// slowest 1% of the sides begin, shared among a request's causes by what each takes more than
// usual.
type Change struct {
	Sentence string        `json:"sentence"` // all of it in one sentence
	Named    bool          `json:"named"`    // there is a cause worth naming
	Causes   []CauseChange `json:"causes"`   // those that are named, the largest difference first
	Old      Side          `json:"old"`
	New      Side          `json:"new"`
	Slow     Difference    `json:"slow"`     // of the mean of the slowest 1%
	All      Difference    `json:"all"`      // of the mean of all requests
	Rows     []CauseChange `json:"rows"`     // by cause and function, the largest difference first
	ByCause  []CauseChange `json:"by_cause"` // by cause alone
	Classes  []ClassChange `json:"classes"`  // by class of requests; none where there is one class
	// of each interval; with it all that are tested hold together by ChangeOptions.Confidence
	Level float64 `json:"level"`
	// what makes the comparison less than it seems, and what to do about it
	Caveats []string `json:"caveats"`
	Alone   bool     `json:"one_trace,omitempty"` // a side has one trace: the machine may have differed

	table *changeTable
}

// Side is one of the two that are compared.
type Side struct {
	Name     string         `json:"name"`
	Traces   int            `json:"traces"`
	Requests int            `json:"requests"`
	Trace    time.Duration  `json:"trace_ns"` // of all traces together
	Slow     reqtrace.Parts `json:"slow_ns"`  // of a request of the slowest 1%, on average
	All      reqtrace.Parts `json:"all_ns"`   // of a request
}

// Difference is what something takes of a request, on average, on both sides, and an interval for what is more.
type Difference struct {
	Old  time.Duration `json:"old_ns"`
	New  time.Duration `json:"new_ns"`
	More time.Duration `json:"more_ns"` // New less Old, with both sides' classes in the same mix
	Low  time.Duration `json:"low_ns"`
	High time.Duration `json:"high_ns"`
}

// Beyond reports whether the interval leaves 0 out.
func (d Difference) beyond() bool { return d.Low > 0 || d.High < 0 }

// CauseChange is the difference that a cause makes, at one function or at all.
type CauseChange struct {
	Cause  reqtrace.Cause `json:"cause"` // assist-wait counts as assist
	Phrase string         `json:"phrase"`
	// what both builds are matched by; numbers of closures are left out
	Function string `json:"function,omitempty"`
	Site     string `json:"site,omitempty"` // function (file:line) in the new build, else in the old one
	// function that held what was waited for, in at least half of the difference
	Holder string `json:"holder,omitempty"`
	// of the requests that at least half of the difference is of, where there are several
	Class string     `json:"class,omitempty"`
	Slow  Difference `json:"slow"`
	All   Difference `json:"all"`
	Named bool       `json:"named,omitempty"`
}

// ClassChange is the difference that a class of requests makes. Its time differs because its requests take more or less
// (Slow and All, which are part of the rows), or because there are more or fewer of them (SlowMix and AllMix, which are
// not): Kitagawa's decomposition (Journal of the American Statistical Association 50, 1955).
type ClassChange struct {
	Class    string     `json:"class"`
	OldShare float64    `json:"old_share"` // of all requests, 0 to 1
	NewShare float64    `json:"new_share"`
	Slow     Difference `json:"slow"`
	SlowMix  Difference `json:"slow_mix"`
	All      Difference `json:"all"`
	AllMix   Difference `json:"all_mix"`
}

// Compare says what differs between the reports of two versions of a service. Take several traces
// of each, old and new in turns: three a side are enough to tell what the machine does to a trace
// from what the versions do. With one a side intervals are twice as wide, and nothing is named that
// makes less than a quarter of the old mean.
//
// A cause, or a function for a cause, is named where its interval leaves 0 out, and its difference
// is at least 5% of the old mean. An interval is the wider of two. One is of Student's t over the
// traces of both sides, as for trials whose units are few clusters (Hayes, Moulton: Cluster
// Randomised Trials, 2nd edition, chapter 10): requests of one trace are not independent. The other
// is of the blocks within the traces, with what neighbours have in common (Newey, West:
// Econometrica 55, 1987), so that traces that agree by chance do not make an interval narrow. All
// intervals that decide are corrected for how many there are (Bonferroni). There is no chance in
// the method: the same reports give the same change.
func Compare(older, newer []*reqtrace.Report, o ChangeOptions) (*Change, error) {
	o.Old, o.New = cmp.Or(o.Old, "old"), cmp.Or(o.New, "new")
	if o.Confidence == 0 {
		o.Confidence = .95
	}
	if !(o.Confidence >= .5 && o.Confidence <= .9999) {
		return nil, evenkeel.NewOptionError("verdict.ChangeOptions", "Confidence",
			"%g; it goes from 0.5 to 0.9999, or is 0 for 0.95",
			o.Confidence)
	}
	sides, alone := [2][]*reqtrace.Report{older, newer}, min(len(older), len(newer)) == 1
	for i, name := range []string{o.Old, o.New} {
		if err := comparable(sides[i], name, alone); err != nil {
			return nil, err
		}
	}
	t := newChangeTable(sides)
	c := &Change{Causes: []CauseChange{}, Classes: []ClassChange{}, Caveats: []string{}, table: t}
	c.Old, c.New = newSide(o.Old, older), newSide(o.New, newer)
	c.Alone = alone
	t.level = 1 - (1-o.Confidence)/float64(max(t.tested(), 1))
	c.Level = t.level
	c.Slow, c.All = t.difference(t.whole)
	c.Slow.Old, c.Slow.New = time.Duration(math.Round(t.slowness.tails[0])),
		time.Duration(math.Round(t.slowness.tails[1]))
	for _, g := range t.sorted(t.byCause) {
		c.ByCause = append(c.ByCause, t.row(g))
	}
	for _, g := range t.sorted(t.rows) {
		c.Rows = append(c.Rows, t.row(g))
	}
	c.classes()
	c.name()
	c.Caveats = append(c.Caveats, c.caveats(sides)...)
	c.Sentence = c.sentence()
	return c, nil
}

// comparable reports why a side cannot be compared. Where one of the sides is alone, a single
// trace, only blocks tell how requests vary.
func comparable(side []*reqtrace.Report, name string, alone bool) error {
	if len(side) == 0 {
		return fmt.Errorf("verdict: no trace of %s: take one at least, better three", name)
	}
	for i, r := range side {
		switch {
		case r == nil || r.Requests == 0:
			return fmt.Errorf("verdict: trace %d of %s has no whole request: trace for longer", i+1, name)
		case !slices.ContainsFunc(r.Blocks, func(b reqtrace.Block) bool { return len(b.Slow) > 0 }):
			return fmt.Errorf("verdict: the report of trace %d of %s has no slow requests, as JSON does not keep them: analyze the trace anew", i+1, name)
		case alone && busyBlocks(r) < 2:
			return fmt.Errorf("verdict: all requests of trace %d of %s began within a 40th of it, so that one trace a side does not tell how they vary: trace while they come all the time, or take three traces a side", i+1, name)
		}
	}
	return nil
}

// busyBlocks counts the blocks in which requests began.
func busyBlocks(r *reqtrace.Report) (n int) {
	for _, b := range r.Blocks {
		if len(b.Classes) > 0 {
			n++
		}
	}
	return n
}

func newSide(name string, reports []*reqtrace.Report) Side {
	s := Side{Name: name, Traces: len(reports), Slow: slowestParts(reports)}
	all := map[reqtrace.Cause]float64{}
	for _, r := range reports {
		s.Requests += r.Requests
		s.Trace += r.Trace
		for c, d := range r.Total.All() {
			all[kin(c)] += float64(d) / float64(r.Requests) / float64(len(reports))
		}
	}
	s.All = partsOfNS(all)
	return s
}

// kin has both kinds of assist be one: which of them it is depends on how busy the workers are, not on the program.
func kin(c reqtrace.Cause) reqtrace.Cause {
	if c == reqtrace.CauseAssistWait {
		return reqtrace.CauseAssistMark
	}
	return c
}

// notOfProgram is what causes say that are not a change of the program, because the machine or
// other processes made them.
var notOfProgram = map[reqtrace.Cause]string{
	reqtrace.CauseMachine:     "The machine stood still",
	reqtrace.CauseDescheduled: "Other processes had the CPU",
}

// ofProgram reports whether a cause may be named as a change of the program.
func ofProgram(c reqtrace.Cause) bool { return c != reqtrace.CauseUnknown && notOfProgram[c] == "" }

// name marks the rows that are named, and collects them.
func (c *Change) name() {
	for i := range c.ByCause {
		cause := &c.ByCause[i]
		cause.Named = c.worth(cause)
		covered := false
		for k := range c.Rows {
			row := &c.Rows[k]
			if row.Cause != cause.Cause || row.Function == "" || !c.worth(row) {
				continue
			}
			// What one function takes less than another takes more of the same cause has moved: the
			// code has another name.
			if sum := float64(cause.Slow.More) / float64(row.Slow.More); sum < changeDetail {
				continue
			}
			row.Named, covered = true, true
			c.Causes = append(c.Causes, *row)
		}
		if cause.Named && !covered {
			c.Causes = append(c.Causes, *cause)
		}
	}
	slices.SortStableFunc(c.Causes,
		func(p, q CauseChange) int { return cmp.Compare(q.Slow.More.Abs(), p.Slow.More.Abs()) })
	c.Named = len(c.Causes) > 0
}

// worth reports whether a row's difference is one to name.
func (c *Change) worth(x *CauseChange) bool {
	d, least := x.Slow, changeShare
	if c.Alone {
		least = aloneShare
	}
	return ofProgram(x.Cause) && d.beyond() && d.More.Abs() >= max(changeTime, time.Duration(least*float64(c.Slow.Old)))
}

// classes fills in the differences of classes, where there are several.
func (c *Change) classes() {
	t := c.table
	if len(t.classes) < 2 {
		return
	}
	for i, name := range t.classes {
		x := ClassChange{Class: name, OldShare: t.share[0][i], NewShare: t.share[1][i]}
		x.Slow, x.All = t.difference(t.byClass[i])
		x.SlowMix, x.AllMix = t.difference(t.mix[i])
		c.Classes = append(c.Classes, x)
	}
	slices.SortStableFunc(c.Classes, func(p, q ClassChange) int {
		return cmp.Compare((q.Slow.More + q.SlowMix.More).Abs(), (p.Slow.More + p.SlowMix.More).Abs())
	})
}

// Of returns the difference that some causes make together: of the mean of the slowest 1%, and of the mean of all. A
// Change that was read from JSON does not know it, and returns nothing.
func (c *Change) Of(causes ...reqtrace.Cause) (slow, all Difference) {
	if c.table == nil {
		return slow, all
	}
	sum := c.table.newGroup(groupKey{})
	for _, g := range c.table.sorted(c.table.byCause) {
		if slices.ContainsFunc(causes, func(x reqtrace.Cause) bool { return kin(x) == g.key.cause }) {
			sum.add(g)
		}
	}
	return c.table.difference(sum)
}

// sentence says in at most three sentences by how much the slowest 1% differ, and which causes take
// more or less. The largest difference comes first.
func (c *Change) sentence() string {
	d := c.Slow
	differ := fmt.Sprintf("The slowest 1%% take %s", differsBy(d, c.New.Name, c.Old.Name))
	most := max(changeTime, time.Duration(changeShare*float64(d.Old)))
	switch {
	case !c.Named && c.Alone:
		return "No difference to name. " + differ + ". One trace of each shows large differences only."
	case !c.Named && d.beyond():
		return differ + ". No cause of that is certain."
	case !c.Named && max(-d.Low, d.High) >= most:
		return "Inconclusive. " + differ + ". Take more traces of each."
	case !c.Named:
		return "No difference to name. " + differ + ", and no cause differs by more than traces of one version do."
	}
	list := []string{differ + "."}
	for _, x := range c.Causes[:min(len(c.Causes), changeCauses)] {
		words := strings.ToUpper(x.Phrase[:1]) + x.Words()[1:]
		if strings.Contains(words, ", ") {
			words += ","
		}
		list = append(list, fmt.Sprintf("%s takes %s.", words, moreOrLess(x.Slow)))
	}
	return strings.Join(list, " ")
}

// changeCauses is how many causes a sentence names. The table has all of them.
const changeCauses = 2

// differsBy says by how much newer differs: "14.2 ms more in new than in old [+4.98 ms, +23.4 ms]".
func differsBy(d Difference, newer, older string) string {
	return fmt.Sprintf("%s in %s than in %s %s", amount(d), newer, older, intervalText(d))
}

// moreOrLess formats a difference with its interval.
func moreOrLess(d Difference) string { return amount(d) + " " + intervalText(d) }

// amount formats a difference without its interval.
func amount(d Difference) string {
	what := "more"
	if d.More < 0 {
		what = "less"
	}
	return textfmt.Duration(d.More.Abs()) + " " + what
}

// Words describes the cause: "waiting for a lock that main.refresh holds, in main.get (main.go:7),
// for GET /".
func (x *CauseChange) Words() string {
	t := x.Phrase
	if x.Holder != "" {
		t += " that " + x.Holder + " " + holds(x.Cause, "") + ","
	}
	if at := cmp.Or(x.Site, x.Function); at != "" {
		t += " in " + at
	}
	t = strings.TrimSuffix(t, ",")
	if x.Class != "" {
		t += ", for " + x.Class
	}
	return t
}

// intervalText writes an interval with its signs.
func intervalText(d Difference) string {
	return "[" + textfmt.SignedDuration(d.Low) + ", " + textfmt.SignedDuration(d.High) + "]"
}

// caveats says what makes a comparison less than it seems.
func (c *Change) caveats(sides [2][]*reqtrace.Report) (list []string) {
	add := func(format string, a ...any) { list = append(list, fmt.Sprintf(format, a...)) }
	if c.Alone {
		add("A side has one trace. The machine may have differed between the two, and no interval within a trace shows that. Take three of each, old and new in turns.")
	}
	procs, rates := [2]map[int]bool{{}, {}}, [2]float64{}
	for i, name := range []string{c.Old.Name, c.New.Name} {
		slow := 0
		for k, r := range sides[i] {
			slow += r.Tail.Requests
			procs[i][r.Procs] = true
			if r.Broken != "" {
				add("Trace %d of %s is cut off or corrupt. Only the part before that is compared (%s).", k+1, name,
					r.Broken)
			}
			rates[i] += float64(r.Requests) / max(r.Trace.Seconds(), 1e-9) / float64(len(sides[i]))
		}
		if slow < fewSlow {
			add("The slowest 1%% of %s are %s. Trace for longer, or more often.", name, textfmt.Plural(slow, "request"))
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(procs[0])), slices.Sorted(maps.Keys(procs[1]))) {
		add("GOMAXPROCS differs. It is %v in %s and %v in %s.", slices.Sorted(maps.Keys(procs[0])), c.Old.Name,
			slices.Sorted(maps.Keys(procs[1])), c.New.Name)
	}
	if ratio := rates[1] / rates[0]; math.Abs(math.Log(ratio)) > math.Log(1+otherLoad) {
		add("The load differs. It is %s requests/s in %s and %s in %s. Put the same load on both.",
			textfmt.Count(rates[0]), c.Old.Name, textfmt.Count(rates[1]), c.New.Name)
	}
	for _, x := range c.Classes {
		if x.NewShare-x.OldShare > otherMix { // as much less are others
			add("%s is %s of the requests in %s, %s in %s. That makes %s of the difference. The causes are compared in the same mix.", classText(x.Class),
				textfmt.Share(x.OldShare), c.Old.Name, textfmt.Share(x.NewShare), c.New.Name,
				textfmt.SignedDuration(x.SlowMix.More))
		}
	}
	for _, x := range c.ByCause {
		if !c.Alone && !x.Named && ofProgram(x.Cause) && x.All.beyond() &&
			x.All.More.Abs() >= max(changeTime, time.Duration(changeShare*float64(c.All.Old))) {
			add("Of all requests, %s takes %s on average. No difference of the slowest 1%% is certain.", x.Phrase,
				moreOrLess(x.All))
		}
		if who := notOfProgram[x.Cause]; who != "" &&
			x.Slow.More.Abs() >= time.Duration(changeShare*float64(c.Slow.Old)) {
			add("%s for %s of a request of the slowest 1%% in %s, %s in %s. That is not a change of the program.",
				who, textfmt.Duration(x.Slow.Old), c.Old.Name, textfmt.Duration(x.Slow.New), c.New.Name)
		}
	}
	return list
}

// classText names a class, also that of requests that have none.
func classText(class string) string {
	if class == "" {
		return "requests without a class"
	}
	return class
}
