package verdict

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/reqtrace"
)

// synthetic is a service made up: requests that compute, and that meet a lock which is held now and then, so that those
// of a stall wait together. What the machine does to a whole trace is drawn, too.
type synthetic struct {
	requests int
	stalls   float64       // a trace, of the lock at cache.get
	stall    time.Duration // mean
	queue    float64       // stalls a trace where other goroutines have the processors
	machine  float64       // how much traces differ: the deviation of a factor on all times
	class    float64       // share of requests of class GET /search, which take ten times as long; 0: one class
	line     int           // of the lock's place
	sleep    time.Duration // of one request in 50
	others   time.Duration // for which other processes have the CPU of one request in 50
}

func (s synthetic) report(rng *rand.Rand) *reqtrace.Report {
	const trace = 5 * time.Second
	factor := math.Exp(s.machine * rng.NormFloat64())
	stalls := func(n float64) (list [][2]time.Duration) {
		for at := time.Duration(0); n > 0; {
			at += time.Duration(rng.ExpFloat64() * float64(trace) / n)
			if at > trace {
				return list
			}
			list = append(list, [2]time.Duration{at, at + time.Duration(factor*float64(s.stall)*(.5+rng.Float64()))})
		}
		return nil
	}
	locked, queued := stalls(s.stalls), stalls(s.queue)
	waits := func(list [][2]time.Duration, at time.Duration) time.Duration {
		for _, x := range list {
			if at >= x[0] && at < x[1] {
				return x[1] - at
			}
		}
		return 0
	}
	var all []syntheticRequest
	for range s.requests {
		q := syntheticRequest{at: time.Duration(rng.Int64N(int64(trace)))}
		took := time.Duration(factor * float64(time.Millisecond) * math.Exp(.3*rng.NormFloat64()))
		if s.class > 0 {
			if q.class = "GET /"; rng.Float64() < s.class {
				q.class, took = "GET /search", 10*took
			}
		}
		add := func(c reqtrace.Cause, site, holder string, d time.Duration) {
			if d > 0 {
				q.parts = append(q.parts, reqtrace.Blame{Cause: c, Site: site, Holder: holder, Time: d})
				q.took += d
			}
		}
		add(reqtrace.CauseRunning, "", "", took)
		add(reqtrace.CauseLock, fmt.Sprintf("main.(*cache).get.func%d (cache.go:%d)", s.line, s.line),
			"main.refresh (cache.go:7)", waits(locked, q.at))
		add(reqtrace.CauseRunqueueBusy, "main.index (index.go:9)", "", waits(queued, q.at))
		if rng.IntN(50) == 0 {
			add(reqtrace.CauseSleep, "main.retry (retry.go:3)", "", s.sleep)
			add(reqtrace.CauseDescheduled, "", "", s.others)
		}
		all = append(all, q)
	}
	return reportOf(trace, all)
}

type syntheticRequest struct {
	at, took time.Duration
	class    string
	parts    []reqtrace.Blame
}

// reportOf sums requests up as reqtrace does.
func reportOf(trace time.Duration, all []syntheticRequest) *reqtrace.Report {
	const blocks = 40
	slices.SortFunc(all, func(p, q syntheticRequest) int { return int(p.took - q.took) })
	n := len(all)
	r := &reqtrace.Report{Trace: trace, Requests: n, Procs: 2, Blocks: make([]reqtrace.Block, blocks)}
	for i, q := range all {
		b := &r.Blocks[int(q.at*blocks/trace)]
		k := slices.IndexFunc(b.Classes, func(c reqtrace.BlockClass) bool { return c.Class == q.class })
		if k < 0 {
			k = len(b.Classes)
			b.Classes = append(b.Classes, reqtrace.BlockClass{Class: q.class})
		}
		slow, kept := i >= int(.99*float64(n)), reqtrace.Request{Class: q.class, End: q.took, Sites: q.parts}
		b.Classes[k].Requests++
		b.Classes[k].Slow += one(slow)
		for _, p := range q.parts {
			r.Total.Add(p.Cause, p.Time)
			if slow {
				r.Tail.Parts.Add(p.Cause, p.Time)
			}
		}
		if i >= int(.97*float64(n)) {
			b.Slow, b.Weight = append(b.Slow, kept), 1
		}
		r.Tail.Requests += one(slow)
	}
	var mean reqtrace.Parts
	for c, d := range r.Tail.Parts.All() {
		mean.Add(c, d/time.Duration(r.Tail.Requests))
	}
	r.Tail.Parts, r.Tail.Mean = mean, mean.Total()
	return r
}

// side makes so many traces.
func (s synthetic) side(rng *rand.Rand, traces int) (list []*reqtrace.Report) {
	for range traces {
		list = append(list, s.report(rng))
	}
	return list
}

// tried returns which services are tried, and how often: more of both in make check.
func tried(few, many int) (names []string, times int) {
	if testutil.Checking() {
		return slices.Sorted(maps.Keys(services)), many
	}
	return []string{"noisy", "quiet", "two classes"}, few
}

// services are such as differ in what their noise is.
var services = map[string]synthetic{
	"quiet":        {requests: 3000, stalls: 12, stall: 20 * ms, line: 1},
	"few stalls":   {requests: 3000, stalls: 4, stall: 30 * ms, line: 1},
	"long stalls":  {requests: 5000, stalls: 3, stall: 150 * ms, line: 1},
	"noisy":        {requests: 3000, stalls: 10, stall: 20 * ms, queue: 3, machine: .1, line: 1},
	"two classes":  {requests: 5000, stalls: 10, stall: 20 * ms, machine: .03, class: .02, line: 1},
	"no tail":      {requests: 3000, machine: .05, line: 1},
	"few requests": {requests: 300, stalls: 6, stall: 20 * ms, machine: .05, line: 1},
}

// TestChangeNull: of groups of traces of the same program nothing is named.
func TestChangeNull(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	names, n := tried(3, 400)
	for _, name := range names {
		for _, traces := range []int{1, 3} {
			s, rng := services[name], rand.New(rand.NewPCG(16, uint64(traces)))
			named, beyond := 0, 0
			for range n {
				c := compared(t, s.side(rng, traces), s.side(rng, traces))
				named += one(c.Named)
				beyond += one(c.Slow.beyond())
				addsUp(t, c)
			}
			t.Logf("%s, %d traces a side: %d of %d named, %d beyond", name, traces, named, n, beyond)
			most := n / 100
			if s.stalls == 0 {
				// its slowest 1% differ by more than 5% of their small mean as soon as an interval
				// fails, and 95% of them are to hold
				most = n / 20
			}
			if named > most || traces > 1 && beyond > n/20+1 {
				t.Errorf("%s, %d traces a side: of %d where nothing differs a cause is named in %d, the whole "+
					"differs in %d", name, traces, n, named, beyond)
			}
		}
	}
}

// TestChangePlanted: a cause that makes the mean of the slowest 1% longer by a fifth is named, and
// others seldom: what a slow request computes beyond the usual counts a little, too, once something
// else has made it slow.
func TestChangePlanted(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	names, n := tried(3, 100)
	// the others are too noisy for three traces
	least := map[string]float64{"quiet": .95, "noisy": .9, "two classes": .9, "no tail": .95, "few stalls": .7}
	for _, name := range names {
		s, rng := services[name], rand.New(rand.NewPCG(17, 1))
		right, wrong, grown, strength := 0, 0, 0., 1.05
		if s.stalls == 0 {
			strength = .6
		}
		for range n {
			older := s.side(rng, 3)
			planted := s
			planted.line, planted.sleep = 2, time.Duration(strength*meanSlow(older))
			c := compared(t, older, planted.side(rng, 3))
			grown += float64(c.Slow.New)/float64(c.Slow.Old) - 1
			for _, x := range c.Causes {
				if x.Cause == reqtrace.CauseSleep && x.Function == "main.retry" &&
					x.Site == "main.retry (retry.go:3)" && x.Slow.More > 0 {
					right++
				} else {
					wrong++
				}
			}
			addsUp(t, c)
		}
		t.Logf("%s: grown by %.0f%%: %d of %d named right, %d others", name, 100*grown/float64(n), right, n, wrong)
		if float64(right) < math.Floor(least[name]*float64(n)) || wrong > n/10 {
			t.Errorf("%s: %d of %d named right, %d others", name, right, n, wrong)
		}
	}
}

// TestChangeOfOthers: that other processes had the CPU is said, and is no change of the program.
func TestChangeOfOthers(t *testing.T) {
	s, rng := services["quiet"], rand.New(rand.NewPCG(18, 1))
	older := s.side(rng, 3)
	s.others = time.Duration(3 * meanSlow(older))
	c := compared(t, older, s.side(rng, 3))
	for _, x := range c.Causes {
		if x.Cause == reqtrace.CauseDescheduled {
			t.Errorf("named: %+v", x)
		}
	}
	if all := strings.Join(c.Caveats, " "); !strings.Contains(all, "Other processes had the CPU for") {
		t.Errorf("not said: %q, %s", c.Caveats, c.Sentence)
	}
}

func compared(t *testing.T, older, newer []*reqtrace.Report) *Change {
	t.Helper()
	c, err := Compare(older, newer, "old", "new")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// addsUp checks that what differs is the sum of what differs by cause and by row.
func addsUp(t *testing.T, c *Change) {
	t.Helper()
	if d := c.Slow.New - c.Slow.Old - c.Slow.More; d.Abs() > 2 {
		t.Errorf("the slowest 1%% take %v in old and %v in new, %v more", c.Slow.Old, c.Slow.New, c.Slow.More)
	}
	for what, rows := range map[string][]CauseChange{"causes": c.ByCause, "rows": c.Rows} {
		slow := c.Mix.More
		for _, x := range rows {
			slow += x.Slow.More
		}
		if n := time.Duration(len(rows) + 1); (slow - c.Slow.More).Abs() > n {
			t.Errorf("%s add up to %v, want %v", what, slow, c.Slow.More)
		}
	}
}

func meanSlow(reports []*reqtrace.Report) (sum float64) {
	for _, r := range reports {
		sum += float64(r.Tail.Mean) / float64(len(reports))
	}
	return sum
}

// TestChangeMix: where requests of a slow class are more, and nothing else differs, no cause is named, and it is said.
func TestChangeMix(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(18, 1))
	s := services["two classes"]
	older := s.side(rng, 3)
	s.class = .2
	c := compared(t, older, s.side(rng, 3))
	addsUp(t, c)
	if c.Named || float64(c.Mix.More) < .5*float64(c.Slow.More) {
		t.Errorf("%v", c)
	}
	if len(c.Caveats) != 1 || !strings.HasPrefix(c.Caveats[0], "GET /search is 2% of the requests in old, 20% in new") {
		t.Errorf("caveats: %q", c.Caveats)
	}
}

// TestChangeOtherClasses: a class that one trace has among the others is one of them in all.
func TestChangeOtherClasses(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(23, 1))
	side := func() []*reqtrace.Report { return services["two classes"].side(rng, 3) }
	older, newer := side(), side()
	for i := range newer[1].Blocks {
		b := &newer[1].Blocks[i]
		for k := range b.Classes {
			if c := &b.Classes[k]; c.Class == "GET /search" {
				c.Class = reqtrace.OtherClasses
			}
		}
		for k := range b.Slow {
			if q := &b.Slow[k]; q.Class == "GET /search" {
				q.Class = reqtrace.OtherClasses
			}
		}
	}
	c := compared(t, older, newer)
	addsUp(t, c)
	if c.Named || !slices.Equal(c.table.classes, []string{reqtrace.OtherClasses, "GET /"}) ||
		total(c.table.share[0]) < .999 {
		t.Errorf("%v %v", c, c.table.classes)
	}
}

// TestChangeFaster: what takes less is named, too, and the same reports the other way round give the opposite.
func TestChangeFaster(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(19, 1))
	s := services["quiet"]
	less := s.side(rng, 3)
	s.sleep = 40 * ms
	more := s.side(rng, 3)
	c, back := compared(t, more, less), compared(t, less, more)
	if len(c.Causes) != 1 || c.Causes[0].Cause != reqtrace.CauseSleep || c.Causes[0].Slow.More >= 0 ||
		c.Causes[0].Site != "main.retry (retry.go:3)" {
		t.Errorf("%v", c)
	}
	if (c.Slow.More+back.Slow.More).Abs() > 1 || (c.Causes[0].Slow.Low+back.Causes[0].Slow.High).Abs() > 1 {
		t.Errorf("%v; and back: %v", c, back)
	}
	if slow := c.Of(reqtrace.CauseSleep, reqtrace.CauseLock); slow.More >= 0 ||
		(slow.More-c.Causes[0].Slow.More).Abs() > 5*ms {
		t.Errorf("sleep and lock together: %+v", slow)
	}
	again := compared(t, more, less)
	again.table, c.table = nil, nil
	if !reflect.DeepEqual(c, again) {
		t.Error("the same reports give another change")
	}
}

// TestChangeAlone: one trace a side names what is far beyond its interval, and nothing else.
func TestChangeAlone(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(20, 1))
	s := services["quiet"]
	s.requests = 9000
	older := s.side(rng, 1)
	s.sleep = 200 * ms
	c := compared(t, older, s.side(rng, 1))
	if len(c.Causes) != 1 || c.Causes[0].Cause != reqtrace.CauseSleep || !c.Alone ||
		!strings.Contains(c.Caveats[0], "A side has one trace") {
		t.Errorf("%v %q", c, c.Caveats)
	}
	s.sleep = 16 * ms
	if c := compared(t, older, s.side(rng, 1)); c.Named || !strings.HasPrefix(c.Sentence, "No difference to name. ") {
		t.Errorf("%v", c)
	}
}

func TestChangeRefuses(t *testing.T) {
	t.Parallel()
	good := []*reqtrace.Report{services["few requests"].report(rand.New(rand.NewPCG(21, 1)))}
	for want, side := range map[string][]*reqtrace.Report{
		"no trace of new":  nil,
		"no whole request": {good[0], {}},
	} {
		if _, err := Compare(good, side, "old", "new"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestStudentQuantile(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		level float64
		n     int
		want  float64
	}{
		{.95, 1, 12.706},
		{.95, 2, 4.303},
		{.95, 4, 2.776},
		{.99, 4, 4.604},
		{.99, 5, 4.032},
		{.95, 30, 2.042},
		{.95, 1000, 1.962},
	} { // tables of the distribution
		if got := studentQuantile(x.level, x.n); math.Abs(got-x.want) > .001 {
			t.Errorf("t of %g with %d degrees of freedom is %.4f, want %g", x.level, x.n, got, x.want)
		}
	}
}

// TestChangeText shows a change with classes and with a function that has moved within the file.
func TestChangeText(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(22, 1))
	s := services["two classes"]
	older := s.side(rng, 3)
	s.line, s.sleep, s.class = 5, 35*ms, .06
	c := compared(t, older, s.side(rng, 3))
	golden.Written(t, "change.golden.txt", func(b *bytes.Buffer) error { return c.WriteText(b, Options{}) })
}

// TestRequestsOfOneMoment: one trace a side tells how requests vary by its blocks, and requests
// that began in one block do not; three traces do.
func TestRequestsOfOneMoment(t *testing.T) {
	moment := func(d time.Duration) *reqtrace.Report {
		var all []syntheticRequest
		for i := range 50 {
			parts := []reqtrace.Blame{
				{Cause: reqtrace.CauseRunning, Time: time.Millisecond + time.Duration(i*i)*7*time.Microsecond},
				{Cause: reqtrace.CauseLock, Site: "main.get (a.go:1)", Time: d * time.Duration(1+i%7)},
			}
			all = append(all, syntheticRequest{
				at:   time.Duration(100+i) * time.Microsecond,
				took: parts[0].Time + parts[1].Time, parts: parts,
			})
		}
		return reportOf(5*time.Second, all)
	}
	older, newer := moment(time.Millisecond), moment(1400*time.Microsecond)
	if c, err := Compare([]*reqtrace.Report{older}, []*reqtrace.Report{newer}, "old", "new"); err == nil ||
		!strings.Contains(err.Error(), "take three traces") {
		t.Errorf("%+v, %v", c, err)
	}
	c, err := Compare([]*reqtrace.Report{older, older, moment(1100 * time.Microsecond)},
		[]*reqtrace.Report{newer, newer, moment(1500 * time.Microsecond)}, "old", "new")
	if err != nil || c.Slow.Low >= c.Slow.High {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestChangeInconclusive: an interval that a difference worth naming lies within does not say that there is none.
func TestChangeInconclusive(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		low, high time.Duration
		want      string
	}{
		{-540 * ms, 246 * ms, "Inconclusive. "},
		{-10 * ms, 60 * ms, "Inconclusive. "},
		{-49 * ms, 49 * ms, "No difference to name. "},
		{10 * ms, 60 * ms, "The slowest 1% take "}, // a difference, whose cause is not known
	} {
		c := Change{Slow: Difference{Old: time.Second, New: time.Second, Low: tt.low, High: tt.high}}
		if got := c.sentence(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("[%v, %v]: %s, want %s", tt.low, tt.high, got, tt.want)
		}
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
