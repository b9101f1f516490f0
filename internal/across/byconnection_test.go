package across

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/reqtrace"
)

// made makes up the traces of a caller and of the services that it calls.
type made struct {
	rng      *rand.Rand
	now      int64
	todo     events
	names    []string
	requests [][]reqtrace.Request // by service
	skew     []int64              // of a service's clock
	wall     []int64              // of its wall clock
	drift    []float64            // of its clock
	idle     map[[2]int][]*wire
	conns    int64
	calls    int
}

type wire struct{ caller, callee, opened int64 }

type event struct {
	at int64
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

const madeFrom = int64(1e12) // ns

func newMade(names ...string) *made {
	m := &made{rng: rand.New(rand.NewPCG(1, 2)), now: madeFrom, idle: map[[2]int][]*wire{}, conns: 100}
	m.names, m.requests = names, make([][]reqtrace.Request, len(names))
	m.skew, m.wall = make([]int64, len(names)), make([]int64, len(names))
	m.drift = make([]float64, len(names))
	return m
}

func (m *made) after(d int64, do func()) { heap.Push(&m.todo, event{m.now + d, do}) }

func (m *made) run(d time.Duration) {
	for end := madeFrom + int64(d); len(m.todo) > 0; {
		e := heap.Pop(&m.todo).(event)
		if e.at > end {
			return
		}
		m.now = e.at
		e.do()
	}
}

// like returns a duration around d with a long tail.
func (m *made) like(d int64) int64 { return d/2 + int64(m.rng.ExpFloat64()*float64(d)/2) }

// request begins a request. work calls done, and returns the calls by then.
func (m *made) request(s int, conn *wire, id string, work func(q *reqtrace.Request, done func()), over func()) {
	start := m.now
	q := &reqtrace.Request{Caller: id}
	if conn != nil {
		q.Conn = conn.callee
		q.Opened = m.opened(conn)
	}
	work(q, func() {
		q.Start, q.Answered, q.Sent = dur(start-madeFrom), dur(m.now-madeFrom), dur(m.now-madeFrom)
		q.End = q.Sent + dur(10_000+m.rng.Int64N(20_000))
		end := madeFrom + int64(q.End)
		q.Clock = end + m.skew[s] + int64(m.drift[s]*float64(end-madeFrom))
		// The service has its own start of the trace.
		q.Began = time.Unix(1e9, start+m.wall[s])
		m.requests[s] = append(m.requests[s], *q)
		over()
	})
}

func (m *made) opened(c *wire) time.Duration {
	if c.opened == 0 {
		return 0
	}
	return dur(c.opened - madeFrom)
}

// call calls to, whose requests do work.
func (m *made) call(from, to int, q *reqtrace.Request, keep int, work func(*reqtrace.Request, func()), done func()) {
	key := [2]int{from, to}
	var c *wire
	dial := int64(0)
	if n := len(m.idle[key]); n > 0 {
		c, m.idle[key] = m.idle[key][n-1], m.idle[key][:n-1]
	} else {
		m.conns += 2
		dial = m.like(80_000)
		c = &wire{m.conns, m.conns + 1, m.now + dial}
		if m.now-madeFrom < 1e6 {
			c.opened = 0
		}
	}
	m.after(dial, func() {
		m.calls++
		id := fmt.Sprintf("%016x", m.calls)
		i := len(q.Calls)
		q.Calls = append(q.Calls, reqtrace.Call{
			ID: id, Start: dur(m.now - madeFrom), Conn: c.caller, Opened: m.opened(c),
		})
		m.after(m.like(40_000), func() {
			m.request(to, c, id, work, func() {
				m.after(m.like(40_000), func() {
					q.Calls[i].End = dur(m.now - madeFrom)
					if len(m.idle[key]) < keep {
						m.idle[key] = append(m.idle[key], c)
					}
					done()
				})
			})
		})
	})
}

func dur(ns int64) time.Duration { return time.Duration(ns) }

// takes is work without calls.
func (m *made) takes(d int64) func(*reqtrace.Request, func()) {
	return func(_ *reqtrace.Request, done func()) { m.after(m.like(d), done) }
}

// load has clients that ask for work again and again.
func (m *made) load(clients int, think int64, s int, work func(*reqtrace.Request, func())) {
	for range clients {
		m.conns += 2
		conn := &wire{m.conns, m.conns + 1, 0}
		var again func()
		again = func() {
			m.after(m.like(think), func() { m.request(s, conn, "", work, again) })
		}
		again()
	}
}

// joinerOf joins requests by service, with or without their ids.
func joinerOf(requests [][]reqtrace.Request, ids bool) *joiner {
	f := &Fleet{}
	for _, list := range requests {
		s := f.Service("")
		for _, q := range list {
			if !ids {
				q.Caller, q.Calls = "", slices.Clone(q.Calls)
				for k := range q.Calls {
					q.Calls[k].ID = ""
				}
			}
			s.Add(q)
		}
	}
	return newJoiner(f.services)
}

// Compared is how calls joined by connections agree with those joined by ids.
type Compared struct {
	ids, ordered, right, unsure int
	Strange                     int // between services that do not call each other
}

func (c Compared) String() string {
	return fmt.Sprintf("%d calls, precision %.4f, recall %.4f, %d of them not sure", c.ids, c.precision(), c.recall(),
		c.unsure)
}

func (c Compared) precision() float64 { return float64(c.right) / float64(max(c.ordered, 1)) }
func (c Compared) recall() float64    { return float64(c.right) / float64(max(c.ids, 1)) }

func compareJoins(requests [][]reqtrace.Request) (Compared, *joiner) {
	type key struct {
		service   int
		clock, at int64
	}
	callees := func(j *joiner) map[key]key {
		m := map[key]key{}
		for _, l := range j.links {
			callee := key{l.callee.service, j.request(l.callee).clock, 0}
			m[key{l.caller.service, j.request(l.caller).clock, l.at}] = callee
		}
		return m
	}
	ids, j := joinerOf(requests, true), joinerOf(requests, false)
	truth, found := callees(ids), callees(j)
	c := Compared{ids: len(truth), ordered: len(found)}
	for _, l := range j.links {
		if l.likely {
			c.unsure++
		}
	}
	edges := map[[2]int]bool{}
	for k, r := range truth {
		edges[[2]int{k.service, r.service}] = true
	}
	for k, r := range found {
		if truth[k] == r {
			c.right++
		}
		if !edges[[2]int{k.service, r.service}] {
			c.Strange++
		}
	}
	return c, j
}

func (m *made) sort() {
	for _, list := range m.requests {
		slices.SortFunc(list, func(a, b reqtrace.Request) int { return cmp.Compare(a.Clock, b.Clock) })
	}
}

// inTurn has requests of shop that call stock and then prices. Stock calls store.
func inTurn(clients int, think time.Duration, keep int) func(m *made) {
	return func(m *made) {
		stock := func(q *reqtrace.Request, done func()) { m.call(1, 3, q, keep, m.takes(600_000), done) }
		m.load(clients, int64(think), 0, func(q *reqtrace.Request, done func()) {
			m.call(0, 1, q, keep, stock, func() { m.call(0, 2, q, keep, m.takes(400_000), done) })
		})
	}
}

// others has a fifth service that shop calls and that is not traced, and other clients of stock.
func others(clients, keep int) func(m *made) {
	return func(m *made) {
		stock := m.takes(600_000)
		m.load(clients, 4_000_000, 0, func(q *reqtrace.Request, done func()) {
			m.call(0, 4, q, keep, m.takes(700_000), func() { m.call(0, 1, q, keep, stock, done) })
		})
		m.load(clients, 4_000_000, 4, func(q *reqtrace.Request, done func()) { m.call(4, 1, q, keep, stock, done) })
	}
}

// fanOut has requests of shop that call stock several times at once.
func fanOut(n int) func(m *made) {
	return func(m *made) {
		m.load(8, 5_000_000, 0, func(q *reqtrace.Request, done func()) {
			left := n
			for i := range n {
				m.after(int64(i)*5_000, func() {
					m.call(0, 1, q, 64, m.takes(2_000_000), func() {
						if left--; left == 0 {
							done()
						}
					})
				})
			}
		})
	}
}

// TestConnections: connections join what ids join, with an unrelated service next to the others.
func TestConnections(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		load              func(m *made)
		skew, wall        time.Duration
		drift             float64
		hidden            bool // the fifth service is not traced
		long              bool // more calls than vote at first
		precision, recall float64
	}{
		"1 in flight":          {load: inTurn(1, 2*ms, 64), precision: .999, recall: .99},
		"8 in flight":          {load: inTurn(8, 2*ms, 64), precision: .999, recall: .99},
		"64 in flight":         {load: inTurn(64, 8*ms, 64), precision: .99, recall: .99},
		"few idle connections": {load: inTurn(16, 8*ms, 2), precision: .99, recall: .99},
		"equal fan-out":        {load: fanOut(4), precision: .99, recall: .99},
		"others":               {load: others(8, 64), hidden: true, precision: .999, recall: .99},
		"others, 64":           {load: others(64, 64), hidden: true, precision: .999, recall: .99},
		"others, few idle":     {load: others(16, 2), hidden: true, precision: .9, recall: .9},
		"two hosts":            {load: inTurn(8, 2*ms, 64), skew: time.Hour, precision: .999, recall: .99},
		"5 ms": {
			load: inTurn(8, 2*ms, 64), skew: time.Hour, wall: 5 * ms, precision: .999, recall: .99,
		},
		"-500 ms": {
			load: inTurn(8, 2*ms, 64), skew: time.Hour, wall: -500 * ms, precision: .999, recall: .99,
		},
		"drift": {
			load: inTurn(8, 2*ms, 64), skew: time.Hour, wall: 5 * ms, drift: 1e-4, precision: .999, recall: .99,
		},
		"16 in flight, long":         {load: inTurn(16, 8*ms, 64), long: true, precision: .999, recall: .99},
		"few idle connections, long": {load: inTurn(16, 8*ms, 2), long: true, precision: .99, recall: .99},
		"-500 ms, long": {
			load: inTurn(8, 2*ms, 64), skew: time.Hour, wall: -500 * ms, long: true, precision: .999, recall: .99,
		},
		"64 in flight, 5 ms": {
			load: inTurn(64, 8*ms, 64), skew: time.Hour, wall: 5 * ms, precision: .99, recall: .99,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.skew != 0 || tt.long || strings.Contains(name, "64") {
				testutil.Computes(t)
			}
			m := newMade("shop", "stock", "prices", "store", "other")
			for i := range m.skew {
				m.skew[i], m.drift[i] = int64(i)*int64(tt.skew), float64(i%2)*tt.drift
				m.wall[i] = int64(i%2) * int64(tt.wall)
			}
			tt.load(m)
			if !tt.hidden { // an unrelated service
				m.load(8, int64(2*ms), 4, m.takes(int64(ms)))
			}
			length := 2 * time.Second
			if tt.long {
				length *= 6
			}
			m.run(length)
			m.sort()
			if tt.hidden {
				m.requests = m.requests[:2]
			}
			c, j := compareJoins(m.requests)
			t.Log(c)
			if c.precision() < tt.precision || c.recall() < tt.recall || c.Strange > 0 {
				t.Errorf("%d calls between services that do not call each other", c.Strange)
			}
			if tt.precision > .99 {
				oneToOne(t, j)
			}
			for key, clock := range j.clocks {
				if clock.pairs == 0 {
					continue
				}
				offset, within := clock.Offset()
				off := offset - (m.skew[key[0]] - m.skew[key[1]])
				off += int64((m.drift[key[1]] - m.drift[key[0]]) * float64(length/2)) // in the middle
				if abs(off) > 100_000 || tt.skew == 0 && off != 0 {
					t.Errorf("%v: off by %d ns of %d", key, off, within)
				}
			}
		})
	}
}

// oneToOne checks that each end of a connection is joined to one other end.
func oneToOne(t *testing.T, j *joiner) {
	t.Helper()
	type end struct {
		service int
		conn    int64
	}
	to, from := map[end]end{}, map[end]end{}
	conns := func(of func(s *Service) map[int64]*conn) map[[3]int64]end {
		m := map[[3]int64]end{}
		for k, s := range j.services {
			for id, e := range of(s) {
				for _, u := range e.uses {
					m[[3]int64{int64(k), int64(u.request), u.at}] = end{k, id}
				}
			}
		}
		return m
	}
	callers := conns(func(s *Service) map[int64]*conn { return s.callers })
	callees := conns(func(s *Service) map[int64]*conn { return s.callees })
	for _, l := range j.links {
		a := callers[[3]int64{int64(l.caller.service), int64(l.caller.request), l.at}]
		b := callees[[3]int64{int64(l.callee.service), int64(l.callee.request), 0}]
		if other, ok := to[a]; ok && other != b {
			t.Fatalf("%v is joined to %v and %v", a, b, other)
		}
		if other, ok := from[b]; ok && other != a {
			t.Fatalf("%v is joined to %v and %v", b, a, other)
		}
		to[a], from[b] = b, a
	}
	if len(to) == 0 {
		t.Error("no connection")
	}
}

// TestPeriodic: if the clocks of two hosts may differ by any number of periods, no call is joined.
func TestPeriodic(t *testing.T) {
	t.Parallel()
	m := newMade("shop", "stock")
	m.skew[1], m.wall[1] = int64(time.Hour), 12_000_000
	same := func(d int64) func(*reqtrace.Request, func()) {
		return func(_ *reqtrace.Request, done func()) { m.after(d, done) }
	}
	var again func()
	again = func() {
		m.request(0, &wire{1, 2, 0}, "", func(q *reqtrace.Request, done func()) {
			m.call(0, 1, q, 1, same(1_000_000), done)
		}, func() {})
		m.after(5_000_000, again)
	}
	again()
	m.run(2 * time.Second)
	m.sort()
	c, _ := compareJoins(m.requests)
	if c.ids < 390 || c.ordered > 0 {
		t.Error(c)
	}
}

// TestInOrder: of candidates that cross, the heaviest are kept.
func TestInOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var list []candidate
		for range rng.IntN(10) {
			ends := pairOf{&conn{number: rng.IntN(5)}, &conn{number: rng.IntN(5)}}
			list = append(list, candidate{match{ends, make([][2]int32, 1), false}, float64(rng.IntN(9))})
		}
		best := 0.
		for set := range 1 << len(list) { // each subset
			var some []candidate
			for i, c := range list {
				if set>>i&1 == 1 {
					some = append(some, c)
				}
			}
			if goesUp(some) {
				best = max(best, weigh(some))
			}
		}
		if got := inOrder(list); !goesUp(got) || weigh(got) != best {
			t.Fatalf("%v of %v: %v, want %v", got, list, weigh(got), best)
		}
	}
}

func goesUp(list []candidate) bool {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Compare(a.caller.number, b.caller.number) })
	for n := 1; n < len(list); n++ {
		if list[n].caller.number == list[n-1].caller.number || list[n].callee.number <= list[n-1].callee.number {
			return false
		}
	}
	return true
}

func weigh(list []candidate) (sum float64) {
	for _, c := range list {
		sum += 1 + c.fill
	}
	return sum
}
