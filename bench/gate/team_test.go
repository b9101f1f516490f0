package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/loadgen"
)

// TestTeams sees that what the parts' figures are made of is measured.
func TestTeams(t *testing.T) {
	for name, part := range teams {
		if !slices.Contains(parts, name) {
			t.Errorf("%s is no part", name)
		}
		under := map[string][]string{} // in each round
		for _, l := range part.loads {
			for _, m := range part.under(l) {
				if !m.rival {
					under[l.name] = append(under[l.name], m.name)
				}
			}
		}
		for load, targets := range part.targets {
			for _, x := range targets {
				if !slices.Contains(under[load], x.over) || !slices.Contains(under[load], x.under) {
					t.Errorf("%s: %s has no %q and %q", name, load, x.over, x.under)
				}
			}
		}
		for _, c := range part.counts {
			if !slices.Contains(under[c.load], c.mode) {
				t.Errorf("%s: %s has no %q", name, c.load, c.mode)
			}
		}
	}
}

// TestRivalsTakeFewerRounds than the modes on which targets hang.
func TestRivalsTakeFewerRounds(t *testing.T) {
	d := driver{rounds: usualRounds, rivals: 2}
	part := team{modes: []mode{{name: "a"}, {name: "b", rival: true}, {name: "c", under: "x"}}, loads: []load{{name: "x", share: .1}, {name: "y"}}}
	if n := d.runs(part); n != 5+2+5+3+5+2 {
		t.Errorf("%d runs", n)
	}
}

// TestCountFigures holds counts against their targets.
func TestCountFigures(t *testing.T) {
	for _, c := range []struct {
		met, failed int64
		want        []figure.Verdict // enough requests, those that met a collection, those that failed
	}{
		{0, 0, []figure.Verdict{figure.Met, figure.Met, figure.Met}},
		{1, 0, []figure.Verdict{figure.Met, figure.Missed, figure.Met}},
		{0, 1, []figure.Verdict{figure.Met, figure.Met, figure.Missed}},
	} {
		d := driver{set: &figure.Set{Out: t.Output()}}
		for round := range 2 {
			s := sample{Mode: "gated", Load: "haproxy", Round: round + 1, Requests: enough / 2}
			if round == 1 {
				s.Failed, s.Met, s.MetOther = c.failed, []int64{0, c.met}, []int64{0, 0}
			}
			d.samples = append(d.samples, s)
		}
		for _, x := range teams["haproxy"].counts {
			d.countFigure(x)
		}
		var got []figure.Verdict
		for _, f := range d.set.Figures {
			got = append(got, f.Verdict)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
	}
}

// TestPartsApart sees that a part's runs are not taken for those of another one whose modes have the same names.
func TestPartsApart(t *testing.T) {
	d := driver{set: &figure.Set{Out: t.Output()}, out: t.Output(), live: 1000}
	d.samples = []sample{{Mode: "gated", Load: "haproxy", Round: 1, Try: 1, Requests: 1, Failed: 1, PeakRSS: []int64{1 << 40}}}
	d.pairFigures()
	if len(d.set.Figures) != 0 || d.gatedPeak() != 2300 {
		t.Errorf("%+v, %d bytes", d.set.Figures, d.gatedPeak())
	}
}

// TestJudge sees that the figures of a recorded file are those of the run.
func TestJudge(t *testing.T) {
	d := &driver{set: figure.New("gate-raft"), out: t.Output()}
	d.set.Out = t.Output()
	warned := 0
	for round := 1; round <= 2; round++ {
		d.samples = append(d.samples,
			sample{Mode: "gated", Load: "raft", Round: round, Try: 1, Requests: 9, PeakRSS: []int64{1}, Raft: &raftCounts{Collections: 9, Transfers: 3, Retried: 2}},
			sample{Mode: streamsMode, Load: "grpc forced", Round: round, Try: 1, Requests: 9, PeakRSS: []int64{1}, Broken: 1, Counted: []counted{{Away: []away{{Drained: 1, Last: 1, Draining: 1}}}}},
			sample{Mode: defaultEnvoy, Load: "envoy", Round: round, Try: 1, Requests: 9, PeakRSS: []int64{1}, Counted: []counted{{Warned: &warned, Away: []away{{Drained: 99}}}}},
			sample{Mode: turnsMode.name, Load: "turns 0.6", Round: round, Try: 1, Requests: 9, PeakRSS: []int64{1}, Turns: &turnCounts{Load: .5, Held: .4, Collections: 9}})
	}
	for _, name := range parts {
		if part, ok := teams[name]; ok {
			d.teamFigures(part)
		}
	}
	d.turnsFigures()
	d.lostFigure(0)
	for name, what := range map[string]string{"": "", haproxyFaults: behindHAProxy, envoyFaults: behindEnvoy, raftFaults: toAGroup} {
		(&faulty{driver: d, name: name, what: what, faults: []fault{{Kind: replicaKilled, Note: "1" + which + holding}}}).report(&loadgen.Result{Answered: 9})
	}
	d.set.Raw[raftFaults+lostKey] = 0
	d.keep()
	dir := t.TempDir()
	if err := d.set.Save(dir); err != nil {
		t.Fatal(err)
	}
	if len(d.set.Figures) < 10 {
		t.Errorf("%+v", d.set.Figures)
	}
	if err := figure.Unchanged("gate", filepath.Join(dir, "*.json"), judge); err != nil {
		t.Error(err)
	}
}

// TestHalfWay: a part that ends with an error says of what was measured until then what its file is judged by.
func TestHalfWay(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	t.Setenv("PATH", "")      // nothing is started
	said := map[string]bool{} // parts that had something to say
	err := figure.Unchanged("gate", "../results/gate-*.json", func(set *figure.Set, raw figure.Recorded) error {
		d := &driver{set: figure.New("gate"), out: io.Discard, rounds: 1, cores: 1, loads: []load{{name: "moderate", share: moderate}}, modes: modes}
		d.set.Out, d.addrs, d.grpcs = d.out, make([]string, mostReplicas), make([]string, mostReplicas)
		for key, v := range map[string]any{"runs": &d.samples, "polls": &d.cases, literalKey: &d.pushed, simulatedKey: &d.simulated} {
			if _, err := raw.Read(key, v); err != nil {
				return err
			}
		}
		if err := judge(set, raw); err != nil {
			return err
		}
		for name, measure := range d.measures() {
			switch name {
			case "quota":
				measure = func(ctx context.Context) error { return d.team(ctx, name) } // without groups
			case "idle":
				measure = d.slow // its second half
			}
			before := len(d.set.Figures)
			if err := measure(ended); err == nil {
				t.Errorf("%s: no error", name)
			}
			said[name] = said[name] || len(d.set.Figures) > before
		}
		for _, f := range set.Figures {
			if strings.HasPrefix(f.Name, "idle: ") || strings.HasPrefix(f.Name, "Enter and Exit") || strings.Contains(f.Name, "fault") {
				continue // these are measured as a whole, or in no part
			}
			if !slices.ContainsFunc(d.set.Figures, func(g figure.Figure) bool { return reflect.DeepEqual(f, g) }) {
				t.Errorf("%s: %s is said by no part that ended", set.Benchmark, f.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, name := range parts {
		if !said[name] && name != "push" { // which has no figures
			t.Errorf("%s says nothing", name)
		}
	}
}

// TestNoStallsUnlessFirst: who may not go first watches no core, and says so.
func TestNoStallsUnlessFirst(t *testing.T) {
	defer func(was func() error) { goFirst = was }(goFirst)
	goFirst = func() error { return os.ErrPermission }
	if stood, err := watchStalls(1).end(); !errors.Is(err, os.ErrPermission) || stood != nil {
		t.Errorf("%v, %v", stood, err)
	}
	d := &driver{set: figure.New("gate"), out: t.Output()}
	d.sayStalls()
	if text, _ := d.set.Raw["stalls"].(string); !strings.Contains(text, os.ErrPermission.Error()) {
		t.Errorf("it says %q", text)
	}
}

// testTeam runs a part shortly and returns its driver.
func testTeam(t *testing.T, name string) *driver {
	d := quick(t)
	d.original = standIn(t)
	if err := d.team(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	part := teams[name]
	for _, l := range part.loads {
		for _, m := range part.under(l) {
			if ss := d.good(m.name, l.name); len(ss) != 1 || ss[0].Requests == 0 || len(ss[0].PeakRSS) != part.replicas {
				t.Errorf("%s: %+v", m.name, ss)
			}
		}
	}
	return d
}

func TestLone(t *testing.T) {
	t.Parallel()
	d := testTeam(t, "lone")
	half := d.set.Raw["rate lone saturated"].(map[string]float64)["requests_per_second"]
	if saturated := d.good("auto", "lone saturated")[0].Rate; saturated != saturating*half {
		t.Errorf("%v/s saturate, where %v/s take half a core", saturated, half)
	}
}

func TestHAProxy(t *testing.T) {
	t.Parallel()
	need(t, "haproxy")
	d := testTeam(t, "haproxy")
	if s := d.good("gated", "haproxy")[0]; len(s.Met) != 2 {
		t.Errorf("requests that met a collection: %v", s.Met)
	}
}

// TestWholePath sees that each replica holds its idle connections while it is loaded, and that its memory is read.
func TestWholePath(t *testing.T) {
	t.Parallel()
	need(t, "haproxy")
	d := testTeam(t, "wholepath")
	for _, m := range wholeModes {
		s := d.good(m.name, "wholepath")[0]
		if s.Idle != quickIdle || len(s.Own) != 2 || s.Own[0] < 1<<20 || s.Failed > 0 || (len(s.Met) == 2) != (m.name != wholeStock) {
			t.Errorf("%s: %+v", m.name, s)
		}
	}
}

// TestWholeFigures holds the whole path against net/http: half of all meets each target, and twice as much misses them.
func TestWholeFigures(t *testing.T) {
	for want, times := range map[figure.Verdict]float64{figure.Met: .5, figure.Missed: 2} {
		d := driver{set: &figure.Set{Out: t.Output()}, out: t.Output()}
		for round := 1; round <= 10; round++ {
			for _, m := range wholeModes {
				s := sample{Mode: m.name, Load: "wholepath", Round: round, Try: 1, Rate: 1000, Requests: enough, PeakRSS: []int64{1}}
				x := 1 + float64(round)/1000
				if m.name == wholeHTTPD {
					x *= times
					if times > 1 {
						s.Failed, s.Met = 1, []int64{1}
					}
				}
				s.P99, s.P999 = time.Duration(x*float64(time.Millisecond)), time.Duration(x*2*float64(time.Millisecond))
				s.CPU, s.Own = []float64{.1 * x, .1 * x}, []int64{int64(x * 1e8)}
				d.samples = append(d.samples, s)
			}
		}
		d.teamFigures(wholeTeam)
		if len(d.set.Figures) != 11 {
			t.Errorf("%d figures", len(d.set.Figures))
		}
		for _, f := range d.set.Figures {
			if f.Verdict != want && f.Unit != "" {
				t.Errorf("%s is %v, want %v", f.Name, f.Verdict, want)
			}
		}
	}
}

func TestEnvoy(t *testing.T) {
	t.Parallel()
	d := quick(t)
	need(t, d.envoyProgram())
	d = testTeam(t, "envoy")
	for _, m := range []string{polledEnvoy, headerEnvoy} {
		s := d.good(m, "envoy forced")[0]
		if len(s.Counted) != 2 || s.Counted[0].Polls == 0 {
			t.Errorf("%s: counted %+v", m, s.Counted)
		}
	}
}

func TestGRPC(t *testing.T) {
	t.Parallel()
	d := testTeam(t, "grpc")
	for _, s := range d.good(streamsMode, "grpc forced") {
		if len(s.Met) != 2 || len(s.Counted) != 2 {
			t.Errorf("%+v", s)
		}
	}
}

// TestQuota sees that the replicas run in groups that have the quota, and that no group stays.
func TestQuota(t *testing.T) {
	need(t, "haproxy")
	q, err := newQuotas(1)
	if err != nil {
		t.Skip(err)
	}
	if err := q.close(); err != nil {
		t.Fatal(err)
	}
	d := quick(t)
	if err := d.quota(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, m := range quotaTeam.modes {
		if s := d.good(m.name, "quota")[0]; len(s.Throttled) != 2 || s.Requests == 0 {
			t.Errorf("%+v", s)
		}
	}
	if _, err := os.Stat(q[0]); !os.IsNotExist(err) {
		t.Errorf("the group stays: %v", err)
	}
}

// TestWithin sees that a program runs in the group, and not its parent.
func TestWithin(t *testing.T) {
	q, err := newQuotas(1)
	if err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := q.close(); err != nil {
			t.Error(err)
		}
	}()
	argv := within(q[0], "cat", "/proc/self/cgroup")
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), filepath.Base(q[0])) {
		t.Errorf("%v\n%s", err, out)
	}
	if n, err := throttled(q[0]); n < 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestCountTurns holds figures that keep to the law against it.
func TestCountTurns(t *testing.T) {
	const live, window = 32 << 20, 10 * time.Second
	now := make([]turnGate, 2)
	for i := range now {
		now[i].Live, now[i].Allocated = live, 10*(turnsTrigger-live)*(1-turnsJitter/2)
		now[i].Turn.Held.Count, now[i].Turn.Held.Total = 10, 4*time.Second
	}
	c := countTurns(make([]turnGate, 2), now, window)
	if c.Collections != 20 || c.Held != .8 || c.Load < .799 || c.Load > .801 {
		t.Errorf("%+v", c)
	}
	for _, x := range []struct {
		held  float64
		alone int64
		want  []figure.Verdict
	}{{.8, 0, []figure.Verdict{figure.Met, figure.Met}}, {.5, 1, []figure.Verdict{figure.Missed, figure.Missed}}} {
		d := driver{set: &figure.Set{Out: t.Output()}}
		for round := range 5 {
			d.samples = append(d.samples, sample{Mode: turnsMode.name, Load: "turns 0.85", Round: round + 1, Try: 1, Turns: &turnCounts{
				Load: .8, Held: x.held, Collections: 10, WithoutTurn: x.alone,
			}})
		}
		d.turnsFigures()
		var got []figure.Verdict
		for _, f := range d.set.Figures {
			got = append(got, f.Verdict)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%v, want %v", got, x.want)
		}
	}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	d := quick(t)
	if err := d.turns(t.Context()); err != nil {
		t.Fatal(err)
	}
	laws := 0
	for _, s := range d.simulated {
		if s.Load < .5 || s.Held <= 0 || s.Collections == 0 {
			t.Errorf("%+v", s)
		}
		if s.Law {
			laws++
		}
	}
	if laws == 0 || laws == len(d.simulated) { // each of the two tests reports some
		t.Errorf("%d of %d are about the law: %+v", laws, len(d.simulated), d.simulated)
	}
	if ss := d.good(turnsMode.name, "turns 1.4"); len(ss) != 1 || ss[0].Turns == nil || len(ss[0].Met) != turnsReplicas {
		t.Errorf("%+v", ss)
	}
}

// TestRaft sees that no write is lost. Who leads at the end may be nobody: on a busy machine elections come at any time.
func TestRaft(t *testing.T) {
	t.Parallel()
	d := testTeam(t, "raft")
	for _, m := range raftTeam.modes {
		s := d.good(m.name, "raft")[0]
		if s.Raft == nil || s.Raft.Lost != 0 {
			t.Errorf("%s: %+v", m.name, s.Raft)
		}
	}
}

// TestRaftFigures holds a group's counts against the targets.
func TestRaftFigures(t *testing.T) {
	for _, c := range []struct {
		lost, retried int
		transfers     uint64
		alone         uint64
		longest       time.Duration
		want          figure.Verdict
	}{
		{0, 3, 3, 1, 25 * time.Millisecond, figure.Met},
		{1, 9, 4, 0, 26 * time.Millisecond, figure.Missed},
	} {
		d := driver{set: &figure.Set{Out: t.Output()}}
		for round := 1; round <= 5; round++ {
			for _, mode := range []string{"gated", stallsMode, takenMode} {
				d.samples = append(d.samples, sample{Mode: mode, Load: "raft", Round: round, Try: 1, Max: c.longest, Raft: &raftCounts{
					Lost: c.lost, Retried: uint64(c.retried), Transfers: c.transfers, Collections: 9, WithoutTurn: c.alone,
				}})
			}
			d.samples = append(d.samples, sample{Mode: patientMode, Load: "raft", Round: round, Try: 1, Max: 100 * time.Millisecond})
		}
		d.raftFigures()
		if len(d.set.Figures) != 8 {
			t.Errorf("%+v", d.set.Figures)
		}
		for _, f := range d.set.Figures {
			if f.Verdict != c.want {
				t.Errorf("%s is %v, want %v", f.Name, f.Verdict, c.want)
			}
		}
	}
}

// TestGRPCFigures holds what forced collections did against the targets.
func TestGRPCFigures(t *testing.T) {
	for _, c := range []struct {
		collections, drained, broken int
		last, added                  time.Duration
		want                         figure.Verdict
	}{
		{15, 2, 0, 5 * time.Millisecond, 5 * time.Millisecond, figure.Met},
		{14, 3, 1, 6 * time.Millisecond, 6 * time.Millisecond, figure.Missed},
	} {
		d := driver{set: &figure.Set{Out: t.Output()}}
		for mode, added := range map[string]time.Duration{"gated": 0, streamsMode: c.added} {
			x := counted{Away: slices.Repeat([]away{{Drained: c.drained, Last: c.last, Draining: time.Millisecond + added}}, c.collections)}
			d.samples = append(d.samples, sample{Mode: mode, Load: "grpc forced", Round: 1, Try: 1, Broken: c.broken, Counted: []counted{x}})
		}
		d.grpcFigures()
		if len(d.set.Figures) != 5 {
			t.Errorf("%+v", d.set.Figures)
		}
		for _, f := range d.set.Figures {
			if f.Verdict != c.want {
				t.Errorf("%s is %v, want %v", f.Name, f.Verdict, c.want)
			}
		}
	}
}

// TestEnvoyFigures sees that too many polls, late answers and late warnings miss their targets.
func TestEnvoyFigures(t *testing.T) {
	for _, c := range []struct {
		polls, announced, warned int
		want                     figure.Verdict
	}{{10, 10, 0, figure.Met}, {11, 11, 1, figure.Missed}} {
		d := driver{set: &figure.Set{Out: t.Output()}, out: t.Output()}
		for round := 1; round <= 5; round++ {
			for mode, x := range map[string]counted{
				polledEnvoy: {Polls: 100}, headerEnvoy: {Polls: c.polls, Away: []away{{Announced: 2}, {Announced: c.announced}}}, defaultEnvoy: {Warned: &c.warned, Away: []away{{Drained: mostAfterFlip + 1}}},
			} {
				d.samples = append(d.samples, sample{Mode: mode, Load: "envoy", Round: round, Try: 1, Counted: []counted{x}})
			}
		}
		d.envoyFigures()
		if len(d.set.Figures) != 3 {
			t.Errorf("%+v", d.set.Figures)
		}
		for _, f := range d.set.Figures {
			if f.Verdict != c.want {
				t.Errorf("%s is %v, want %v", f.Name, f.Verdict, c.want)
			}
		}
	}
}
