package across

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// pair makes a caller and a callee whose clock is behind by offset, and runs too slow by drift. The
// callee's request i takes took(i). Answers take up to 100 µs each way.
func pair(n int, offset time.Duration, drift float64, took func(i int) time.Duration) *Fleet {
	return fleetOf(requests(n, offset, drift, took))
}

func fleetOf(calls, callees []reqtrace.Request, others ...[]reqtrace.Request) *Fleet {
	f := &Fleet{}
	for i, requests := range append([][]reqtrace.Request{calls, callees}, others...) {
		s := f.Service([]string{"shop", "prices", "store"}[i])
		for _, q := range requests {
			s.Add(q)
		}
		s.End(&reqtrace.Report{})
	}
	return f
}

func requests(
	n int, offset time.Duration, drift float64, took func(i int) time.Duration,
) (calls, callees []reqtrace.Request) {
	chance := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		at := time.Duration(i) * 5 * time.Millisecond
		to, d := time.Duration(20+chance.IntN(80))*time.Microsecond, took(i)
		back := time.Duration(20+chance.IntN(80)) * time.Microsecond
		id := fmt.Sprintf("%016x", i+1)
		const own = 100 * time.Microsecond
		q := requestOf(at, own+to+d+back, wait{own, own + to + d + back})
		q.Calls = []reqtrace.Call{{ID: id, Start: at + own}}
		calls = append(calls, q)
		begin := at + own + to
		begin -= offset + time.Duration(drift*float64(begin))
		r := requestOf(begin, d, wait{})
		r.Caller = id
		callees = append(callees, r)
	}
	return calls, callees
}

type wait struct{ from, to time.Duration }

// requestOf returns one that runs, but for a wait for the network.
func requestOf(start, took time.Duration, w wait) reqtrace.Request {
	q := reqtrace.Request{Start: start, End: start + took, Clock: int64(start + took)}
	q.Parts.Add(reqtrace.CauseRunning, took-(w.to-w.from))
	q.Path = []reqtrace.Tile{{Start: start, End: start + w.from, Cause: reqtrace.CauseRunning}}
	if w.to > 0 {
		q.Parts.Add(reqtrace.CauseNetwork, w.to-w.from)
		const site = "main.look (look.go:7)"
		q.Path = append(q.Path, reqtrace.Tile{
			Start: start + w.from, End: start + w.to, Cause: reqtrace.CauseNetwork, Site: site,
		})
		q.Sites = []reqtrace.Blame{{Cause: reqtrace.CauseNetwork, Site: site, Time: w.to - w.from}}
	}
	return q
}

// TestWorksAfterCalls: a caller that works for long after its call does not hide that the clocks differ.
func TestWorksAfterCalls(t *testing.T) {
	calls, callees := requests(1000, 5*time.Millisecond, 0, oneIn50)
	for i := range calls {
		q := &calls[i]
		q.Calls[0].End = q.End // the answer
		q.End += 10 * time.Millisecond
		q.Clock += int64(10 * time.Millisecond)
		q.Parts.Add(reqtrace.CauseRunning, 10*time.Millisecond)
		callees[i].Answered = callees[i].End
	}
	s := fleetOf(calls, callees).Join()
	if c := s.Clocks[0]; (c.Offset-5*time.Millisecond).Abs() > 100*time.Microsecond || len(s.Caveats) > 0 ||
		s.Parts[0].Service != "prices" || s.Parts[0].Share < .95 {
		t.Errorf("%+v, %v, %+v", c, s.Caveats, s.Parts)
	}
}

func oneIn50(i int) time.Duration {
	if i%50 == 0 {
		return 30 * time.Millisecond
	}
	return time.Millisecond
}

// TestClocks: the offset of another host's clock is within 100 µs, also if it drifts, and the same
// host's is exact.
func TestClocks(t *testing.T) {
	for _, tt := range []struct {
		offset time.Duration
		drift  float64
	}{{0, 0}, {5 * time.Millisecond, 0}, {-500 * time.Millisecond, 0}, {5 * time.Millisecond, 1e-4}} {
		s := pair(1000, tt.offset, tt.drift, oneIn50).Join()
		if len(s.Clocks) != 1 || s.Found != s.Calls || s.Found < 100 || s.Joined < .99 {
			t.Fatalf("%+v: %+v", tt, s)
		}
		want := tt.offset + time.Duration(tt.drift*2.5e9)
		if d := s.Clocks[0].Offset - want; d.Abs() > 100*time.Microsecond || tt.offset == 0 && d != 0 {
			t.Errorf("%+v: offset %v, want %v", tt, s.Clocks[0].Offset, want)
		}
		if len(s.Caveats) > 0 || !s.Named || s.Parts[0].Service != "prices" || s.Parts[0].Share < .95 {
			t.Errorf("%+v: %s %v %+v", tt, s.Sentence, s.Caveats, s.Parts)
		}
	}
}

// TestNothing: requests that take equally long accuse no service.
func TestNothing(t *testing.T) {
	s := pair(1000, 0, 0, func(i int) time.Duration { return time.Duration(i) * time.Microsecond }).Join()
	if s.Named || !strings.HasPrefix(s.Sentence, "No cause to name. The slowest 1% of shop's requests take only 5") {
		t.Error(s.Sentence)
	}
}

// TestUncertain: no service is accused of what chance or a busy machine may do.
func TestUncertain(t *testing.T) {
	const ms = time.Millisecond
	took := func(slow time.Duration) func(i int) time.Duration {
		return func(i int) time.Duration {
			if i%50 == 0 {
				return slow
			}
			return ms
		}
	}
	mixed := func(n int, slow time.Duration) *Fleet {
		calls, callees := requests(n, 0, 0, func(i int) time.Duration {
			if i%250 == 0 {
				return slow
			}
			return ms
		})
		for i := range calls {
			if q := &calls[i]; i%250 > 0 && i%125 == 0 || i == 10 || i == 20 {
				q.End, q.Clock = q.End+30*ms, q.Clock+int64(30*ms)
				q.Parts.Add(reqtrace.CauseRunning, 30*ms)
			}
		}
		return fleetOf(calls, callees)
	}
	for _, tt := range []struct {
		fleet *Fleet
		want  string
	}{
		{pair(300, 0, 0, took(30*ms)), "are only 3 requests, so trace"},
		{pair(1000, 0, 0, took(4*ms)), "Waits for a CPU can take as long (3 ms)."},
		{mixed(1000, 60*ms), "It is most of the extra time in 4 of 10 requests, which may be chance. Trace"},
		{mixed(4000, 60*ms), "The slowest requests differ, so it may be as little as 4"},
	} {
		s := tt.fleet.Join()
		if s.Named || s.Fix != "" || !strings.HasPrefix(s.Sentence, "No service is certain. ") ||
			!strings.Contains(s.Sentence, "in prices") || !strings.Contains(s.Sentence, tt.want) {
			t.Errorf("want %q: %q %+v", tt.want, s.Sentence, s.Parts)
		}
	}
	if s := mixed(4000, 200*ms).Join(); !s.Named || s.Parts[0].Service != "prices" {
		t.Errorf("16 of 40 requests take far more than the others: %q", s.Sentence)
	}
}

// TestStarved: a service that had no CPU while requests were on the way is not told from a slow network.
func TestStarved(t *testing.T) {
	const ms = time.Millisecond
	way := func(n int, offset time.Duration) (*Fleet, *reqtrace.Machine) {
		calls, callees := requests(n, offset, 0, func(int) time.Duration { return ms })
		for i := range calls {
			if i%50 > 0 {
				continue
			}
			q, r := &calls[i], &callees[i]
			q.End, q.Clock = q.End+30*ms, q.Clock+int64(30*ms)
			q.Parts.Add(reqtrace.CauseNetwork, 30*ms)
			q.Path[1].End, q.Sites[0].Time = q.Path[1].End+30*ms, q.Sites[0].Time+30*ms
			r.Start, r.End, r.Clock = r.Start+30*ms, r.End+30*ms, r.Clock+int64(30*ms)
			r.Path[0].Start += 30 * ms
		}
		f := fleetOf(calls, callees)
		return f, &f.services[1].Report.Machine
	}
	for _, offset := range []time.Duration{0, 500 * ms} {
		f, _ := way(1000, offset)
		s := f.Join()
		if !s.Named || !strings.Contains(s.Sentence, "is on the way to prices and back") {
			t.Errorf("%q, %v", s.Sentence, s.Caveats)
		}
		f, m := way(1000, offset)
		m.RunDelay = time.Second
		if s := f.Join(); s.Named || !strings.Contains(s.Sentence, "The threads of prices waited 1 s for a CPU.") {
			t.Errorf("threads waited: %q", s.Sentence)
		}
		f, m = way(1000, offset)
		for at := time.Duration(0); at < 5*time.Second; at += 250 * ms {
			m.Spans = append(m.Spans, reqtrace.Span{Start: at - offset, End: at - offset + 35*ms})
		}
		if s := f.Join(); s.Named || !strings.Contains(s.Sentence, "prices stood still for ") {
			t.Errorf("stood still: %q", s.Sentence)
		}
		f, _ = way(400, offset)
		if s := f.Join(); s.Named || !strings.Contains(s.Sentence, " prices may have had no CPU then.") {
			t.Errorf("a short time: %q", s.Sentence)
		}
	}
}

// TestUnchangedHeader: a service passes on the header that it got, so its call has the id of its own
// request.
func TestUnchangedHeader(t *testing.T) {
	calls, callees := requests(200, 0, 0, oneIn50)
	var last []reqtrace.Request
	for i := range callees {
		q := &callees[i]
		d := q.Duration() / 2
		*q = withCall(*q, d)
		r := requestOf(q.Start+100*time.Microsecond, d-200*time.Microsecond, wait{})
		r.Caller = q.Caller
		last = append(last, r)
	}
	s := fleetOf(calls, callees, last).Join()
	if s.Found != s.Calls || s.Parts[0].Share > .6 || s.Parts[1].Share < .4 || len(s.Caveats) > 0 {
		t.Errorf("found %d, %+v, %v", s.Found, s.Parts, s.Caveats)
	}
}

// withCall returns q with a wait for a call in its first part.
func withCall(q reqtrace.Request, d time.Duration) reqtrace.Request {
	r := requestOf(q.Start, q.Duration(), wait{0, d})
	r.Caller, r.Calls = q.Caller, []reqtrace.Call{{ID: q.Caller, Start: q.Start}}
	return r
}

// TestRetries: both requests of a call that was tried again are its own, in order.
func TestRetries(t *testing.T) {
	const n = 100
	calls, callees := requests(n, 0, 0, oneIn50)
	for i := range calls {
		again := calls[i].Calls[0]
		again.Start += 300 * time.Microsecond
		calls[i].Calls = append(calls[i].Calls, again)
		r := callees[i]
		r.Start, r.End, r.Clock = r.Start+500*time.Microsecond, r.End+500*time.Microsecond, r.Clock+500_000
		callees = append(callees, r)
	}
	f := fleetOf(calls, callees)
	j := newJoiner(f.services)
	for i := range f.services[0].requests {
		l := j.of(ref{0, i})
		if len(l) != 2 || l[1].from-l[0].from != 500_000 || l[0].from < l[0].at {
			t.Fatalf("%d: %+v", i, l)
		}
	}
}

// TestWaitOfSeveralCauses: a wait is the callee's, whichever causes the caller's goroutines added to it,
// and whichever of them is the largest.
func TestWaitOfSeveralCauses(t *testing.T) {
	for _, largest := range []reqtrace.Cause{reqtrace.CauseChannel, reqtrace.CauseDescheduled} {
		calls, callees := requests(1000, 0, 0, oneIn50)
		for i := range calls {
			q := &calls[i]
			w := &q.Sites[0]
			other := *w
			q.Path[1].Cause, other.Cause, other.Time = largest, largest, w.Time*6/10
			w.Time -= other.Time
			q.Sites = append(q.Sites, other)
			q.Parts.Add(w.Cause, -other.Time)
			q.Parts.Add(other.Cause, other.Time)
		}
		s := fleetOf(calls, callees).Join()
		want := 1.
		if largest == reqtrace.CauseDescheduled { // the caller's own
			want = .4
		}
		i := slices.IndexFunc(s.Parts, func(p Part) bool { return p.Service == "prices" && !p.Between })
		if i < 0 {
			t.Fatalf("%+v", s.Parts)
		}
		if s.Joined < .99 || s.Parts[i].Share < want-.05 {
			t.Errorf("%v: joined %f, %+v", largest, s.Joined, s.Parts)
		}
	}
}

// TestJoinedOnTheWay: the time on the way to a service is joined, too.
func TestJoinedOnTheWay(t *testing.T) {
	calls, callees := requests(1000, 0, 0, oneIn50)
	for i := range calls {
		q, r := &calls[i], &callees[i]
		*r = requestOf(r.Start, 100*time.Microsecond, wait{})
		r.Caller = q.Calls[0].ID
		other := reqtrace.Tile{
			Start: q.Start - time.Millisecond, End: q.Start, Cause: reqtrace.CauseNetwork,
			Site: "main.other (other.go:7)",
		}
		q.Start, q.Path = other.Start, slices.Insert(q.Path, 0, other)
		q.Sites = append(q.Sites, reqtrace.Blame{Cause: other.Cause, Site: other.Site, Time: time.Millisecond})
		q.Parts.Add(other.Cause, time.Millisecond)
	}
	if s := fleetOf(calls, callees).Join(); s.Joined < .95 || s.Joined > .99 || !s.Parts[0].Between {
		t.Errorf("joined %f, %+v", s.Joined, s.Parts)
	}
}

// TestTakeUnread: a service that waits for CPUs gets the time on the way to it, if it has a part of its
// own.
func TestTakeUnread(t *testing.T) {
	const ms = time.Millisecond
	of := func(c reqtrace.Cause, median time.Duration) *verdict.Verdict {
		var r reqtrace.Report
		r.Requests, r.Median.Mean, r.Tail.Mean = 1, median, median+5*ms
		r.Tail.Excess.Add(c, 5*ms)
		return verdict.Of(&r)
	}
	for _, tt := range []struct {
		cause             reqtrace.Cause
		median, own, want time.Duration
	}{
		{reqtrace.CauseRunqueueBusy, 0, 5 * ms, 10 * ms},
		{reqtrace.CauseRunqueueBusy, 0, ms, 0},
		{reqtrace.CauseRunqueueBusy, 20 * ms, 5 * ms, 0}, // no cause to name
		{reqtrace.CauseLock, 0, 5 * ms, 0},
	} {
		p := Part{Excess: tt.own, Tail: tt.own, Verdict: of(tt.cause, tt.median)}
		way := Part{Excess: 10 * ms, Tail: 11 * ms, Median: ms}
		p.takeUnread(&way)
		if p.Unread != tt.want || p.Excess != tt.own+tt.want || (way.Tail == 0) != (tt.want > 0) {
			t.Errorf("%v, %v: %+v, %+v", tt.cause, tt.own, p, way)
		}
	}
}

// TestLastOf: the call that ended last is what a wait was for, and not one that goes on.
func TestLastOf(t *testing.T) {
	const ms = int64(1_000_000)
	calls := []link{{at: 0, to: 4 * ms}, {at: ms, to: 9 * ms}, {at: 2 * ms, to: 30 * ms}, {at: 0, to: ms}}
	if c := lastOf(calls, 3*ms, 10*ms); c != &calls[1] {
		t.Errorf("%+v", c)
	}
	if c := lastOf(calls[2:], 3*ms, 10*ms); c != &calls[2] {
		t.Errorf("%+v", c)
	}
	if c := lastOf(calls[3:], 3*ms, 10*ms); c != nil {
		t.Errorf("%+v", c)
	}
}
