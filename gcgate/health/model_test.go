package health

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/gcgate/httpgate"
	"evenkeel.dev/internal/testutil"
)

const mib = 1 << 20

// model is a balancer in front of some replicas, as HAProxy is one (src/check.c of 2.6).
type model struct {
	addr              string        // from which it polls
	inter, fast, down time.Duration // between two polls: as usual, while the state changes, while it is down
	fall, rise        int

	mu      sync.Mutex
	rng     *rand.Rand     // guarded by mu
	servers []*modelServer // guarded by mu
	next    int            // guarded by mu
	failed  int            // requests that found no server; guarded by mu
	outages int            // moments in which the last server went; guarded by mu
	downs   int            // times that a server went; guarded by mu
	longest time.Duration  // that a server was out; guarded by mu
}

// modelServer is a replica as the balancer sees it.
type modelServer struct {
	m      *model
	health int // rise to rise+fall-1 is up, and below it is down
	since  time.Time
	poll   func(addr, header string) (ready bool)
	enter  func() // a request
}

func (s *modelServer) up() bool { return s.health >= s.m.rise }

// step takes the answer to a poll.
func (s *modelServer) step(ready bool) {
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	was, full := s.up(), m.rise+m.fall-1
	switch {
	case ready:
		if s.health++; s.up() {
			s.health = full
		}
	case was:
		if s.health--; !s.up() {
			s.health = 0
		}
	default:
		s.health = 0
	}
	if was == s.up() {
		return
	}
	if s.up() {
		m.longest = max(m.longest, time.Since(s.since))
		return
	}
	s.since = time.Now()
	m.downs++
	for _, other := range m.servers {
		if other.up() {
			return
		}
	}
	m.outages++
}

// pause is the time to the next poll, and header what it says.
func (s *modelServer) pause() (d time.Duration, header string) {
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case s.health == m.rise+m.fall-1:
		d, header = m.inter, "UP"
	case s.up():
		d, header = m.fast, fmt.Sprintf("UP %d/%d", s.health-m.rise+1, m.fall)
	case s.health > 0:
		d, header = m.fast, fmt.Sprintf("DOWN %d/%d", s.health, m.rise)
	default:
		d, header = m.down, "DOWN"
	}
	return d, header + "; name=be/a; node=lb"
}

// run polls a server until ctx ends. Answers take their time to come.
func (s *modelServer) run(ctx context.Context) {
	for d := s.m.random(s.m.inter); sleep(ctx, d); d, _ = s.pause() {
		_, header := s.pause()
		ready := s.poll(s.m.addr, header)
		if !sleep(ctx, s.m.random(min(2*time.Millisecond, s.m.inter))) {
			return
		}
		s.step(ready)
	}
}

func (m *model) random(d time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Duration(m.rng.Int64N(int64(d)))
}

// request sends one to a server that is up.
func (m *model) request() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range m.servers {
		s := m.servers[m.next%len(m.servers)]
		if m.next++; s.up() {
			s.enter()
			return
		}
	}
	m.failed++
}

// modelCase is a balancer, and what the replicas know of it.
type modelCase struct {
	name              string
	inter, fast, down time.Duration
	fall, rise        int
	second            int // rise of another balancer, which sends as many requests; 0: none
	says              bool
	inside            bool          // the handler is mounted inside of httpgate.Wrap
	past              time.Duration // mean time between two requests to a replica past the balancer; 0: none
	options           [2]int        // Handler.Fall and Rise
	within            time.Duration // Options.AnnounceTimeout
	traffic           time.Duration // between two requests
	rate              float64       // of allocation, bytes a second
	stops             bool          // gates are stopped, and started again, in the middle of it
	rounds            int           // default: 4, or 100 in make check
	silent            bool          // the signal must not be used
	used              bool          // it must, each time
	some              bool          // it must, sometimes
	long              bool          // in make check only: it takes seconds
}

// TestTwoAtOnceBehindABalancer asks two replicas to collect at once, time and again, behind
// balancers of all kinds. No request may find both out.
func TestTwoAtOnceBehindABalancer(t *testing.T) {
	const ms = time.Millisecond
	rounds, rises, drawn := 4, []int{10}, 2
	checking := testutil.Checking()
	if checking {
		rounds, rises, drawn = 100, []int{10, 100}, 10
	}
	var cases []modelCase
	for _, inter := range []time.Duration{
		ms, 10 * ms, 20 * ms, 100 * ms, 200 * ms, 500 * ms, time.Second, 2 * time.Second,
		5 * time.Second, 10 * time.Second,
	} {
		c := modelCase{inter: inter, fall: 3, rise: 2, traffic: 5 * ms, used: inter <= 20*ms, silent: inter >= 100*ms}
		c.name = fmt.Sprintf("every %v", inter)
		cases = append(cases, c)
	}
	cases = append(cases,
		modelCase{
			name: "fall and rise 1, defaults here", inter: 10 * ms, fall: 1, rise: 1,
			traffic: 5 * ms, used: true,
		},
		modelCase{
			name: "fall 3, rise 2, 1 said", rounds: 3, inter: 10 * ms, fall: 3, rise: 2, options: [2]int{1, 1},
			traffic: 5 * ms, used: true,
		},
		modelCase{
			name: "rise 100, 1 said", rounds: 6, inter: 10 * ms, fall: 1, rise: 100, options: [2]int{1, 1},
			traffic: 5 * ms, used: true,
		},
		modelCase{
			name: "rise 100, 1 said, little traffic", long: true, rounds: 6, inter: 10 * ms, fall: 1, rise: 100,
			options: [2]int{1, 1}, traffic: 3 * time.Second, used: true,
		},
		modelCase{
			name: "rise 100, 1 said, state sent", rounds: 6, inter: 10 * ms, fall: 1, rise: 100, options: [2]int{1, 1},
			says: true, traffic: time.Minute, used: true,
		},
		modelCase{
			name: "fall 4, 1 said", long: true, rounds: 3, inter: 10 * ms, fall: 4, rise: 2, options: [2]int{1, 1},
			traffic: 5 * ms, some: true,
		},
		modelCase{
			name: "slow while down", rounds: 3, inter: 10 * ms, down: 10 * time.Second, fall: 1, rise: 2,
			options: [2]int{1, 1}, traffic: 50 * ms, used: true,
		},
		modelCase{
			name: "slow while it rises", long: true, rounds: 2, inter: 10 * ms, fast: 10 * time.Second, fall: 1,
			rise: 3, traffic: 50 * ms, used: true,
		},
		modelCase{
			name: "slow while it rises to 5, nothing said", rounds: 2, inter: 10 * ms, fast: 10 * time.Second, fall: 1,
			rise: 5, traffic: 50 * ms, used: true,
		},
		modelCase{
			name: "slow while it rises to 8, state sent", rounds: 2, inter: 10 * ms, fast: 10 * time.Second, fall: 1,
			rise: 8, says: true, traffic: 50 * ms, used: true,
		},
		modelCase{
			name: "slow while it changes", long: true, rounds: 4, inter: 10 * ms, fast: 300 * ms, fall: 2, rise: 3,
			within: 10 * time.Second, traffic: 50 * ms, used: true,
		},
		modelCase{
			name: "slow while down, and memory fills", rounds: 6, inter: 10 * ms, down: 5 * time.Second, fall: 1,
			rise: 2, traffic: 50 * ms, rate: 50 * mib, some: true,
		},
		modelCase{
			name: "slow, and waited for", rounds: 6, inter: time.Second, fall: 3, rise: 2, within: 10 * time.Second,
			traffic: 50 * ms, used: true,
		},
		modelCase{
			name: "slow, waited for, and wrong", rounds: 6, inter: 2 * time.Second, fall: 1, rise: 4,
			options: [2]int{1, 1}, within: 10 * time.Second, traffic: 50 * ms, used: true,
		},
		modelCase{
			name: "gates stop", inter: 10 * ms, fall: 1, rise: 3, options: [2]int{1, 1}, traffic: 5 * ms,
			stops: true, used: true,
		},
		modelCase{
			name: "gates stop, slow while down", long: true, rounds: 4, inter: 10 * ms, down: 10 * time.Second, fall: 1,
			rise: 3, traffic: 50 * ms, stops: true, used: true,
		},
	)
	for _, rise := range rises {
		add := func(name string, change func(c *modelCase)) {
			c := modelCase{
				name: fmt.Sprintf("%s, rise %d", name, rise), inter: 10 * ms, fall: 1, rise: rise, traffic: 10 * ms,
				rounds: 2, used: true,
			}
			change(&c)
			cases = append(cases, c)
		}
		add("some requests past the balancer", func(c *modelCase) { c.past = 20 * ms })
		add("as many past the balancer", func(c *modelCase) { c.long, c.past = true, 5*ms })
		add("two balancers, the second quicker", func(c *modelCase) { c.second = 1 })
		add("two balancers, the second slower", func(c *modelCase) { c.long, c.rise, c.second = true, 2, rise })
		add("inside of Wrap", func(c *modelCase) { c.inside = true })
		add("inside of Wrap, 1 said", func(c *modelCase) { c.long, c.inside, c.options = true, true, [2]int{1, 1} })
	}
	cases = append(cases, modelCase{
		name: "few requests past the balancer, rise 100", inter: 10 * ms, fall: 1, rise: 100,
		traffic: 5 * ms, rounds: 3, past: time.Second, used: true,
	})
	cases = append(cases, anyCases(rand.New(rand.NewPCG(1, 2)), drawn)...)
	for i, c := range cases {
		if c.rounds == 0 {
			c.rounds = rounds
		}
		if c.long && !checking {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.try(t, rand.New(rand.NewPCG(uint64(i), 3))) })
		})
	}
}

// anyCases draws n cases that do drain: the others are silent, as those above that are so slow.
func anyCases(rng *rand.Rand, n int) []modelCase {
	const ms = time.Millisecond
	one := func(of ...time.Duration) time.Duration { return of[rng.IntN(len(of))] }
	var cases []modelCase
	for len(cases) < n {
		c := modelCase{
			name:  fmt.Sprintf("any %d", len(cases)),
			inter: one(3*ms, 10*ms, 30*ms, 100*ms, time.Second, 10*time.Second),
			fast:  one(0, ms, 100*ms, 3*time.Second), down: one(0, ms, 100*ms, 3*time.Second, 10*time.Second),
			fall: 1 + rng.IntN(6), rise: 1 + rng.IntN(6), says: rng.IntN(3) == 0,
			options: [2]int{rng.IntN(6), rng.IntN(6)}, within: one(0, 0, time.Second, 10*time.Second),
			rounds: 3, traffic: one(20*ms, 100*ms, time.Second), rate: float64(rng.IntN(2) * 30 * mib),
			stops: rng.IntN(4) == 0,
			past:  one(0, 0, 30*ms, time.Second), inside: rng.IntN(4) == 0, some: true,
		}
		if rng.IntN(4) == 0 {
			c.second = 1 + rng.IntN(6)
		}
		if c.drains() {
			cases = append(cases, c)
		}
	}
	return cases
}

// drains reports whether a replica is out for sure when it is asked: the polls are as fast as it
// takes, and Fall is enough.
func (c modelCase) drains() bool {
	said, within := c.options[0], c.within
	if said == 0 {
		said = defaultFall
	}
	if within == 0 {
		within = 100 * time.Millisecond
	}
	answered := c.inter + 2*time.Millisecond
	return c.fall <= said && (c.fall == 1 || c.fast <= c.inter) && time.Duration(said+1)*answered <= within
}

// modelReplica is a process.
type modelReplica struct {
	mu      sync.Mutex
	current *gcgate.Gate // guarded by mu
	signal  gcgate.Signal
	start   func() *gcgate.Gate
	log     logBuffer
}

func (r *modelReplica) gate() *gcgate.Gate {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

func (c modelCase) try(t *testing.T, rng *rand.Rand) {
	m := c.balancer("127.0.0.1", c.rise, rng)
	balancers := []*model{m}
	if c.second > 0 {
		balancers = append(balancers, c.balancer("127.0.0.2", c.second, rand.New(rand.NewPCG(rng.Uint64(), 4))))
	}
	ctx, cancel := context.WithCancel(t.Context())
	turns := make(oneTurn, 1)
	var replicas [2]*modelReplica
	for i := range replicas {
		r := &modelReplica{}
		var poll func(addr, header string) bool
		r.signal, poll = c.healthCheck(r)
		for _, b := range balancers {
			b.servers = append(b.servers, &modelServer{m: b, health: b.rise + b.fall - 1, poll: poll, enter: r.enter})
		}
		r.start = func() *gcgate.Gate {
			h := gcgatetest.NewHeap()
			h.Rate, h.Mark = c.rate, time.Millisecond+m.random(40*time.Millisecond)
			o := gcgate.Options{
				Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{r.signal}, Turns: turns,
				AnnounceTimeout: c.within,
			}
			return startGate(t, o, h, &r.log)
		}
		r.current = r.start()
		replicas[i] = r
	}
	for _, b := range balancers {
		for _, s := range b.servers {
			go s.run(ctx)
		}
		go func() {
			for sleep(ctx, c.traffic) {
				b.request()
			}
		}()
	}
	for _, r := range replicas {
		go func() {
			for c.past > 0 && sleep(ctx, m.random(2*c.past)) {
				r.enter()
			}
		}()
	}
	time.Sleep(7*m.inter + 100*time.Millisecond)
	for n := range c.rounds {
		var asked sync.WaitGroup
		for _, r := range replicas {
			asked.Go(func() { r.gate().Collect(ctx) })
		}
		if c.stops && n%10 == min(5, c.rounds/2) {
			replicas[n/10%2].restart(m.random(150 * time.Millisecond))
		}
		asked.Wait()
	}
	for _, r := range replicas {
		r.gate().Stop(context.Background())
	}
	cancel()
	synctest.Wait()
	for _, b := range balancers {
		c.judge(t, b, replicas[0])
	}
	time.Sleep(time.Second) // what the fakes still do
}

// balancer returns one that polls from addr.
func (c modelCase) balancer(addr string, rise int, rng *rand.Rand) *model {
	m := &model{
		addr: addr, inter: c.inter, fast: c.fast, down: c.down, fall: c.fall, rise: rise,
		rng: rng,
	}
	if m.fast == 0 {
		m.fast = m.inter
	}
	if m.down == 0 {
		m.down = m.inter
	}
	return m
}

func (r *modelReplica) enter() { r.gate().Enter().Exit() }

// restart stops the gate, after d, and starts another.
func (r *modelReplica) restart(d time.Duration) {
	time.Sleep(d)
	r.gate().Stop(context.Background())
	time.Sleep(time.Second)
	g := r.start()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = g
}

func (c modelCase) judge(t *testing.T, m *model, r *modelReplica) {
	log := r.log.String()
	if m.failed > 0 || m.outages > 0 {
		t.Errorf("%d requests failed, and %d times both replicas were out\n%s", m.failed, m.outages, log)
	}
	t.Logf("out %d times, %v at most", m.downs, m.longest)
	if c.used && m.downs < c.rounds {
		t.Errorf("the balancer had a replica out %d times in %d collections: the signal is of no use\n%s",
			m.downs, 2*c.rounds, log)
	}
	if c.some && m.downs == 0 {
		t.Errorf("the balancer never had a replica out: the case tests nothing\n%s", log)
	}
	if c.silent {
		if m.downs > 0 {
			t.Errorf("the balancer had a replica out %d times: the signal must be silent", m.downs)
		}
		want := []string{r.signal.String(), "127.0.0.1 polls every", "AnnounceTimeout is 100ms", "10ms"}
		for _, w := range want {
			if strings.Count(log, "cannot be used now") != 1 || !strings.Contains(log, w) {
				t.Errorf("the log does not say %q, once:\n%s", w, log)
			}
		}
	}
}

func (c modelCase) healthCheck(replica *modelReplica) (gcgate.Signal, func(addr, header string) bool) {
	h := &Handler{Fall: c.options[0], Rise: c.options[1]}
	return h, func(addr, header string) bool {
		r := &http.Request{Method: http.MethodGet, RemoteAddr: addr + ":1", Header: http.Header{}} // polls are many
		if c.says {
			r.Header.Set("X-Haproxy-Server-State", header)
		}
		var handler http.Handler = h
		if c.inside {
			handler = httpgate.Wrap(replica.gate(), h)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code == 200
	}
}
