//go:build linux

package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/client"
	"evenkeel.dev/loadgen"
)

// way is one way to run the replicas, and to reach them.
type way struct {
	name    string
	program string                          // its package; default: examples/msgpush
	window  int                             // messages that live, at most quickWindow in a quick run; 0: the program's own
	args    func(s *system, i int) []string // of replica i; nil: none
	env     []string
	anyCore bool // a replica may use all cores, not one
	quota   bool // it has a quota of CPU time

	front  string                          // the balancer; "": none
	etcd   bool                            // it runs, for the replicas' turns
	path   string                          // of a request; default: /push
	inBand bool                            // the client spreads the requests by the answers' headers
	dial   func(s *system) (caller, error) // nil: HTTP
	idle   int                             // connections that each replica has besides, with nothing to say

	gated  bool   // it has a gate, and answers POST /collect
	counts bool   // it is the command service with a gate
	leads  bool   // the first member of the group has to lead
	stalls bool   // a follower is stopped now and then
	under  string // the only load under which it is measured; "": each
}

const quickWindow = 20_000

// caller makes calls that are no HTTP requests to one URL.
type caller interface {
	call(ctx context.Context, worker int) error // is loadgen's Call
	after(ctx context.Context, r *harness.Run) error
	close()
}

// system is replicas that run, and the way to them.
type system struct {
	*harness.Run
	way way
	dir string

	addrs, grpcs        []string // of the replicas
	listen, admin, etcd string   // addresses of the balancer, its runtime API and etcd

	groups   quotas
	store    *harness.Child // etcd
	replicas []*replica
	front    *harness.Child
	client   *client.Transport
	caller   caller
	idle     []net.Conn
}

// replica is a process of the service.
type replica struct {
	*harness.Child
	addr string
}

// open starts n replicas and what stands before them.
func open(ctx context.Context, r *harness.Run, w way, n int) (s *system, err error) {
	s = &system{Run: r, way: w, addrs: make([]string, n), grpcs: make([]string, n)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.dir, err = r.Dir()
	for _, list := range [][]string{s.addrs, s.grpcs} {
		for i := range list {
			err = cmp.Or(err, freeAddr(&list[i]))
		}
	}
	if err := cmp.Or(err, freeAddr(&s.listen), freeAddr(&s.admin), freeAddr(&s.etcd)); err != nil {
		return s, err
	}
	if w.quota {
		if s.groups, err = newQuotas(n); err != nil {
			return s, err
		}
	}
	if w.etcd {
		if s.store, err = s.startEtcd(ctx); err != nil {
			return s, err
		}
	}
	for i := range n {
		r, err := s.startReplica(ctx, i)
		if err != nil {
			return s, err
		}
		s.replicas = append(s.replicas, r)
	}
	if w.front != "" {
		if s.front, err = s.startFront(ctx); err != nil {
			return s, err
		}
	}
	if w.dial != nil {
		if s.caller, err = w.dial(s); err != nil {
			return s, err
		}
	}
	if w.inBand {
		s.client = &client.Transport{Base: &http.Transport{MaxIdleConnsPerHost: 1000}, Targets: s.urls()}
	}
	return s, s.hold(ctx)
}

func freeAddr(to *string) (err error) {
	*to, err = harness.FreeAddr()
	return err
}

func (s *system) urls() (urls []string) {
	for _, addr := range s.addrs {
		urls = append(urls, "http://"+addr)
	}
	return urls
}

// close ends all that open has started. Processes are killed: what they would do at their end is
// not measured, such as to wait until a peer has them back.
func (s *system) close() {
	for _, c := range s.idle {
		_ = c.Close()
	}
	if s.client != nil {
		_ = s.client.Close() // it has only idle probes to end
	}
	if s.caller != nil {
		s.caller.close()
	}
	for _, r := range s.replicas {
		r.Kill()
	}
	for _, c := range []*harness.Child{s.front, s.store} {
		if c != nil {
			c.Kill()
		}
	}
	_ = s.groups.close() // in which nothing runs any more
}

// niceness is how much nicer the replicas are than client and balancer, which represent
// other machines.
const niceness = 10

// startReplica starts a replica and returns when it answers.
func (s *system) startReplica(ctx context.Context, i int) (*replica, error) {
	w := s.way
	program, err := s.programOf(ctx)
	if err != nil {
		return nil, err
	}
	argv := []string{program, "-addr", s.addrs[i]}
	if w.window > 0 {
		argv = append(argv, "-window", strconv.Itoa(harness.Unless(s.Run, w.window, min(w.window, quickWindow))))
	}
	if w.args != nil {
		argv = append(argv, w.args(s, i)...)
	}
	if w.quota {
		argv = within(s.groups[i], argv...)
	}
	if !s.Quick { // on a busy machine they would starve
		argv = append([]string{"nice", "-n", strconv.Itoa(niceness)}, argv...)
	}
	core, env := harness.AnyCore, w.env
	if !w.anyCore {
		core, env = i%runtime.NumCPU(), append([]string{"GOMAXPROCS=1"}, env...)
	}
	c, err := s.Start(ctx, core, env, argv...)
	if err != nil {
		return nil, err
	}
	c.Drain()
	r := &replica{c, s.addrs[i]}
	if err := r.await(ctx); err != nil {
		r.Stop()
		_, complaint := r.Output()
		return nil, fmt.Errorf("%s: %w\n%s", w.name, err, complaint)
	}
	return r, nil
}

// programOf returns the path of the replicas' program.
func (s *system) programOf(ctx context.Context) (string, error) {
	if s.way.name == gcigo {
		return original(ctx, s.Run)
	}
	return s.Program(ctx, cmp.Or(s.way.program, "examples/msgpush"))
}

// await returns when the replica answers, within a minute.
func (r *replica) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("it does not answer"))
	defer cancel()
	for {
		if _, err := r.stats(ctx); err == nil {
			return nil
		}
		select {
		case <-r.Exited():
			return errors.New("it ended before it answered")
		default:
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stats are what the cases read of what a replica says of itself.
type stats struct {
	Gate    *gateStats // nil: there is none
	Runtime struct{ Collections int64 }

	Leader int // of a Raft group, from 1; 0: not known
	Member struct{ Transfers int64 }
}

// gateStats are those of [gcgate.Stats] that the cases read.
type gateStats struct {
	State                       gcgate.State
	Collections                 map[string]int64 // the gate's own, by reason
	WithoutTurn                 int64            // of them
	Overlapped, OverlappedOther int64            // requests
	Live, Allocated             float64          // bytes
	Turn                        struct{ Held gcgate.Duration }
	Phases                      map[string]gcgate.Duration
}

func (r *replica) stats(ctx context.Context) (st stats, err error) {
	return st, r.tell(ctx, "/stats", &st)
}

func (s *system) stats(ctx context.Context) (list []stats, err error) {
	for _, r := range s.replicas {
		st, rerr := r.stats(ctx)
		list, err = append(list, st), errors.Join(err, rerr)
	}
	return list, err
}

// askTimeout is the longest wait for an answer to a question of a case.
const askTimeout = time.Minute

// tell reads the JSON at a path of the replica into x.
func (r *replica) tell(ctx context.Context, path string, x any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	text, err := harness.Get(ctx, "http://"+r.addr+path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, x)
}

// collect asks the replica for a collection and returns when it has ended, or was refused.
func (r *replica) collect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addr+"/collect", nil)
	if err != nil {
		return
	}
	req.Close = true // it does not stay in the service's way
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}

// options are those of an open loop on the system.
func (s *system) options(rate float64) loadgen.Options {
	o := loadgen.Options{Rate: rate}
	if s.caller != nil {
		o.Call = s.caller.call
		return o
	}
	at := s.addrs[0]
	if s.front != nil {
		at = s.listen
	}
	o.Targets = []loadgen.Target{{Method: http.MethodGet, URL: "http://" + at + cmp.Or(s.way.path, "/push")}}
	if s.client != nil {
		o.Transport = s.client
	}
	return o
}

// load loads the system and sets what its replicas did during that.
func (s *system) load(ctx context.Context, rate float64, forced bool) (*loadgen.Result, error) {
	var before []stats
	var failed error
	var busy machine.Times
	var running sync.WaitGroup
	during, end := context.WithCancel(ctx)
	defer end()
	o := s.options(rate)
	o.OnMeasure = func() {
		before, failed = s.stats(ctx)
		busy, _ = machine.ReadTimes() // the harness reads them, too, and says what is wrong
		if forced && s.way.gated {
			running.Go(func() { s.collectTogether(during) })
		}
		if s.way.stalls {
			running.Go(func() { stallFollowers(during, s.replicas) })
		}
	}
	var servers []*harness.Child
	for _, r := range s.replicas {
		servers = append(servers, r.Child)
	}
	res, err := s.Measure(ctx, o, servers...)
	end()
	if now, err := machine.ReadTimes(); err == nil {
		s.Set("busy", (now.Used-busy.Used).Seconds()/s.Length.Seconds()/float64(runtime.NumCPU()))
	}
	running.Wait()
	if err := cmp.Or(err, failed); err != nil {
		return nil, err
	}
	after, err := s.stats(ctx)
	if err != nil {
		return nil, err
	}
	return res, errors.Join(s.count(before, after), s.counted(ctx, after))
}

// count sets what the replicas did between two readings.
func (s *system) count(before, after []stats) error {
	var collections, overlapped, own int64
	for i, r := range s.replicas {
		collections += after[i].Runtime.Collections - before[i].Runtime.Collections
		if was, now := before[i].Gate, after[i].Gate; was != nil && now != nil {
			overlapped += now.Overlapped + now.OverlappedOther - was.Overlapped - was.OverlappedOther
		}
		bytes, err := machine.OwnBytes(r.Pid())
		if err != nil {
			return err
		}
		own += bytes
	}
	s.Set("collections", float64(collections))
	s.Set("own MB", float64(own)/1e6)
	if s.way.gated {
		s.Set("overlapped", float64(overlapped))
	}
	if s.way.inBand {
		s.turns(before, after)
	}
	return nil
}

// counted sets what the command service and the caller have counted.
func (s *system) counted(ctx context.Context, now []stats) error {
	if s.way.counts {
		if err := s.announcements(ctx, now); err != nil {
			return err
		}
	}
	if s.caller == nil {
		return nil
	}
	return s.caller.after(ctx, s.Run)
}

// forcedEvery is the longest pause between two times that all replicas are asked to collect.
const forcedEvery = 50 * time.Millisecond

// collectTogether asks all replicas for a collection at once, again and again, each time when all
// have collected.
func (s *system) collectTogether(ctx context.Context) {
	for ctx.Err() == nil {
		var asked sync.WaitGroup
		for _, r := range s.replicas {
			asked.Go(func() { r.collect(ctx) }) // the counts show how many there were
		}
		asked.Wait()
		_ = pause(ctx, rand.N(forcedEvery))
	}
}

// Requests that may come after an announcement that balancers follow, and after they confirmed it.
const (
	mostAfter   = 10
	mostDrained = 2
)

// announcements sets what became of the collections that the replicas have announced.
func (s *system) announcements(ctx context.Context, now []stats) error {
	var polls, ignored, late int
	var last []time.Duration
	var draining gcgate.Duration
	for i, r := range s.replicas {
		var c struct {
			Polls       int
			Collections []struct {
				Announced, Drained int // requests after the announcement, and after the peers' confirmation
				Last               time.Duration
			}
		}
		if err := r.tell(ctx, "/counts", &c); err != nil {
			return err
		}
		polls += c.Polls
		for _, a := range c.Collections {
			last = append(last, a.Last)
			if a.Announced > mostAfter {
				ignored++
			}
			if a.Drained > mostDrained {
				late++
			}
		}
		drained := now[i].Gate.Phases[gcgate.StateDraining.String()]
		draining.Count, draining.Total = draining.Count+drained.Count, draining.Total+drained.Total
	}
	s.Set("polls", float64(polls))
	s.Set("announced", float64(len(last)))
	s.Set("ignored", float64(ignored))
	s.Set("late calls", float64(late))
	if n := len(last); n > 0 {
		slices.Sort(last)
		s.Set("last call ms", last[(n*99+99)/100-1].Seconds()*1e3)
		s.Set("drain ms", draining.Total.Seconds()*1e3/float64(max(draining.Count, 1)))
	}
	return nil
}
