package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

const (
	confidence = .95
	// of the old side's mean, below which nothing is tested
	changeShare  = .05
	changeTime   = 20 * time.Microsecond
	changeDetail = .5 // of a row's difference
	// times as wide, with one trace a side
	aloneTimes = 3
	aloneShare = .25 // of the old side's mean
	otherLoad  = .1  // difference of requests per second
	otherMix   = .02 // of all requests, by which a class grows
	fewSlow    = 30  // requests in the slowest 1% of a side
)

// Change says what made the slowest 1% of the requests slower, or faster, from one version of a
// service to another.
//
// Each trace of a side has the same weight. The differences of Rows and Mix add up to Slow, and so do
// those of ByCause and Mix. In rows, Slow is what requests take beyond the time at which the slowest
// 1% begin. This is Kitagawa's decomposition (Journal of the American Statistical Association 50,
// 1955).
type Change struct {
	Sentence string        `json:"sentence"`
	Named    bool          `json:"named"`
	Causes   []CauseChange `json:"causes"`
	Old      Side          `json:"old"`
	New      Side          `json:"new"`
	Slow     Difference    `json:"slow"` // of the mean of the slowest 1%
	Rows     []CauseChange `json:"rows"`
	ByCause  []CauseChange `json:"by_cause"`
	Mix      Difference    `json:"mix"` // made by other shares of the classes of requests
	Level    float64       `json:"level"`
	Caveats  []string      `json:"caveats"`
	Alone    bool          `json:"one_trace,omitempty"`

	table *changeTable
}

type Side struct {
	Name     string         `json:"name"`
	Traces   int            `json:"traces"`
	Requests int            `json:"requests"`
	Trace    time.Duration  `json:"trace_ns"`
	Slow     reqtrace.Parts `json:"slow_ns"`
}

// Difference is what something takes on both sides, with an interval.
type Difference struct {
	Old  time.Duration `json:"old_ns"`
	New  time.Duration `json:"new_ns"`
	More time.Duration `json:"more_ns"` // New less Old, in the same mix of classes
	Low  time.Duration `json:"low_ns"`
	High time.Duration `json:"high_ns"`
}

func (d Difference) beyond() bool { return d.Low > 0 || d.High < 0 }

// CauseChange is the difference that a cause makes, at one function or in all.
type CauseChange struct {
	Cause  reqtrace.Cause `json:"cause"` // CauseAssistMark stands for both assists
	Phrase string         `json:"phrase"`
	// as every build calls it
	Function string `json:"function,omitempty"`
	Site     string `json:"site,omitempty"` // in the new build, else in the old one
	Holder   string `json:"holder,omitempty"`
	// that makes at least half of the difference
	Class string     `json:"class,omitempty"`
	Slow  Difference `json:"slow"`
	Named bool       `json:"named,omitempty"`
}

// Compare says what differs between the reports of two versions of a service. With one trace of
// each, it names only large differences.
//
// It names a cause, or a function for a cause, if its interval excludes 0 and the difference is at
// least 5% of the old mean. An interval is the wider of two: Student's t over the traces (Hayes,
// Moulton: Cluster Randomised Trials, 2nd edition, chapter 10), and that of the blocks within the
// traces (Newey, West: Econometrica 55, 1987). Bonferroni corrects all intervals for their number,
// so that they hold together at 95%.
func Compare(older, newer []*reqtrace.Report, oldName, newName string) (*Change, error) {
	sides, alone := [2][]*reqtrace.Report{older, newer}, min(len(older), len(newer)) == 1
	for i, name := range []string{oldName, newName} {
		if err := comparable(sides[i], name, alone); err != nil {
			return nil, err
		}
	}
	t := newChangeTable(sides)
	t.level = 1 - (1-confidence)/float64(max(t.tested(), 1))
	c := &Change{
		Causes: []CauseChange{}, Caveats: []string{},
		Old: newSide(oldName, older), New: newSide(newName, newer), Alone: alone, Level: t.level, table: t,
	}
	c.Slow, c.Mix = t.difference(t.whole), t.difference(t.mix)
	c.Slow.Old, c.Slow.New = time.Duration(math.Round(t.slowness.tails[0])),
		time.Duration(math.Round(t.slowness.tails[1]))
	for _, g := range t.sorted(t.byCause) {
		c.ByCause = append(c.ByCause, t.row(g))
	}
	for _, g := range t.sorted(t.rows) {
		c.Rows = append(c.Rows, t.row(g))
	}
	c.name()
	c.Caveats = append(c.Caveats, c.caveats(sides)...)
	c.Sentence = c.sentence()
	return c, nil
}

// comparable says why a side cannot be compared. With one trace a side, only blocks show how
// requests vary.
func comparable(side []*reqtrace.Report, name string, alone bool) error {
	if len(side) == 0 {
		return fmt.Errorf("verdict: no trace of %s: take one at least, better three", name)
	}
	for i, r := range side {
		switch {
		case r.Requests == 0:
			return fmt.Errorf("verdict: trace %d of %s has no whole request: trace for longer", i+1, name)
		case alone && busyBlocks(r) < 2:
			return fmt.Errorf("verdict: all requests of trace %d of %s began within a 40th of it, so that one trace "+
				"a side does not tell how they vary: trace while they come all the time, or take three traces a side",
				i+1, name)
		}
	}
	return nil
}

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
	for _, r := range reports {
		s.Requests += r.Requests
		s.Trace += r.Trace
	}
	return s
}

// Joined returns one cause for both kinds of assist, because they differ by how busy the workers
// are.
func Joined(c reqtrace.Cause) reqtrace.Cause {
	if c == reqtrace.CauseAssistWait {
		return reqtrace.CauseAssistMark
	}
	return c
}

var notOfProgram = map[reqtrace.Cause]string{
	reqtrace.CauseMachine:     "The machine stood still",
	reqtrace.CauseDescheduled: "Other processes had the CPU",
}

func ofProgram(c reqtrace.Cause) bool { return c != reqtrace.CauseUnknown && notOfProgram[c] == "" }

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
			// If another function takes as much less of the cause, the code has only moved.
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

func (c *Change) worth(x *CauseChange) bool {
	d, least := x.Slow, changeShare
	if c.Alone {
		least = aloneShare
	}
	return ofProgram(x.Cause) && d.beyond() && d.More.Abs() >= max(changeTime, time.Duration(least*float64(c.Slow.Old)))
}

// Of returns the difference that some causes make together.
func (c *Change) Of(causes ...reqtrace.Cause) Difference {
	sum := c.table.newGroup(groupKey{})
	for _, g := range c.table.sorted(c.table.byCause) {
		if slices.ContainsFunc(causes, func(x reqtrace.Cause) bool { return Joined(x) == g.key.cause }) {
			sum.add(g)
		}
	}
	return c.table.difference(sum)
}

func (c *Change) sentence() string {
	d := c.Slow
	differ := fmt.Sprintf("The slowest 1%% take %s in %s than in %s %s", amount(d), c.New.Name, c.Old.Name,
		intervalText(d))
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

const (
	changeCauses = 2
	classless    = "requests without a class"
)

// moreOrLess formats "14.2 ms more [+4.98 ms, +23.4 ms]".
func moreOrLess(d Difference) string { return amount(d) + " " + intervalText(d) }

func amount(d Difference) string {
	what := "more"
	if d.More < 0 {
		what = "less"
	}
	return textfmt.Duration(d.More.Abs()) + " " + what
}

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

func intervalText(d Difference) string {
	return "[" + textfmt.SignedDuration(d.Low) + ", " + textfmt.SignedDuration(d.High) + "]"
}

func (c *Change) caveats(sides [2][]*reqtrace.Report) (list []string) {
	add := func(format string, a ...any) { list = append(list, fmt.Sprintf(format, a...)) }
	if c.Alone {
		add("A side has one trace. The machine may have differed between the two, and no interval within a trace " +
			"shows that. Take three of each, old and new in turns.")
	}
	procs, rates := [2][]int{}, [2]float64{}
	for i, name := range []string{c.Old.Name, c.New.Name} {
		slow := 0
		for k, r := range sides[i] {
			slow += r.Tail.Requests
			procs[i] = append(procs[i], r.Procs)
			if r.Broken != "" {
				add("Trace %d of %s is cut off or corrupt. Only the part before that is compared (%s).", k+1, name,
					r.Broken)
			}
			rates[i] += float64(r.Requests) / max(r.Trace.Seconds(), 1e-9) / float64(len(sides[i]))
		}
		slices.Sort(procs[i])
		procs[i] = slices.Compact(procs[i])
		if slow < fewSlow {
			add("The slowest 1%% of %s are %s. Trace for longer, or more often.", name, textfmt.Plural(slow, "request"))
		}
	}
	if !slices.Equal(procs[0], procs[1]) {
		add("GOMAXPROCS differs. It is %v in %s and %v in %s.", procs[0], c.Old.Name, procs[1], c.New.Name)
	}
	if ratio := rates[1] / rates[0]; math.Abs(math.Log(ratio)) > math.Log(1+otherLoad) {
		add("The load differs. It is %s requests/s in %s and %s in %s. Put the same load on both.",
			textfmt.Count(rates[0]), c.Old.Name, textfmt.Count(rates[1]), c.New.Name)
	}
	for i, class := range c.table.classes {
		older, newer := c.table.share[0][i], c.table.share[1][i]
		if newer-older > otherMix { // another class has less
			add("%s is %s of the requests in %s, %s in %s. The causes are compared in the same mix.",
				cmp.Or(class, classless), textfmt.Share(older), c.Old.Name, textfmt.Share(newer), c.New.Name)
		}
	}
	for _, x := range c.ByCause {
		if who := notOfProgram[x.Cause]; who != "" &&
			x.Slow.More.Abs() >= time.Duration(changeShare*float64(c.Slow.Old)) {
			add("%s for %s of a request of the slowest 1%% in %s, %s in %s. That is not a change of the program.",
				who, textfmt.Duration(x.Slow.Old), c.Old.Name, textfmt.Duration(x.Slow.New), c.New.Name)
		}
	}
	return list
}
