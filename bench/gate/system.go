//go:build linux

package gate

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/loadgen"
)

// way is how replicas run, and how requests reach them.
type way struct {
	name    string
	program string // default: examples/msgpush
	window  int    // live messages
	args    func(s *system, i int) []string
	env     []string
	anyCore bool
	quota   bool // of CPU time

	front string                          // balancer, or ""
	path  string                          // default: /push
	dial  func(s *system) (caller, error) // nil: HTTP
	idle  int                             // more connections of each replica

	gated  bool   // it answers POST /collect
	counts bool   // it answers /counts
	leads  bool   // the first member has to be the leader
	stalls bool   // a follower stops now and then
	under  string // its only load; "": all
}

const quickWindow = 20_000

// caller makes calls instead of requests of one URL.
type caller interface {
	call(ctx context.Context, worker int) error
	after(ctx context.Context, r *harness.Run) error
	close()
}

type system struct {
	*harness.Run
	way way
	dir string

	addrs, grpcs  []string // of the replicas
	listen, admin string   // of the balancer and of its runtime API

	groups   quotas
	replicas []*replica
	front    *harness.Child
	caller   caller
	idle     []net.Conn
}

type replica struct {
	*harness.Child
	addr string
}

func open(ctx context.Context, r *harness.Run, w way, n int) (s *system, err error) {
	s = &system{Run: r, way: w, addrs: make([]string, n), grpcs: make([]string, n)}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = r.Dir(); err != nil {
		return s, err
	}
	all := []*string{&s.listen, &s.admin}
	for i := range n {
		all = append(all, &s.addrs[i], &s.grpcs[i])
	}
	for _, addr := range all {
		if *addr, err = harness.FreeAddr(); err != nil {
			return s, err
		}
	}
	if w.quota {
		if s.groups, err = newQuotas(n); err != nil {
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
	return s, s.hold(ctx)
}

func (s *system) urls() (urls []string) {
	for _, addr := range s.addrs {
		urls = append(urls, "http://"+addr)
	}
	return urls
}

// close kills the processes, because their shutdown is not measured.
func (s *system) close() {
	for _, c := range s.idle {
		_ = c.Close()
	}
	if s.caller != nil {
		s.caller.close()
	}
	for _, r := range s.replicas {
		r.Kill()
	}
	if s.front != nil {
		s.front.Kill()
	}
	_ = s.groups.close()
}

// The client and the balancer run first, because they represent other machines.
const niceness = 10

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
	if !s.Quick { // in which they could starve
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
	r := &replica{c, s.addrs[i]}
	if err := r.Until(ctx, "answer", func(ctx context.Context) bool {
		_, err := r.stats(ctx)
		return err == nil
	}); err != nil {
		r.Stop()
		_, complaint := r.Output()
		return nil, fmt.Errorf("%s: %w\n%s", w.name, err, complaint)
	}
	return r, nil
}

func (s *system) programOf(ctx context.Context) (string, error) {
	if s.way.name == gcigo {
		return original(ctx, s.Run)
	}
	return s.Program(ctx, cmp.Or(s.way.program, "examples/msgpush"))
}

type stats struct {
	Gate    *gcgate.Stats
	Runtime struct{ Collections int64 }

	Leader int // from 1; 0: none
	Member struct{ Transfers int64 }
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

const askTimeout = time.Minute

func (r *replica) tell(ctx context.Context, path string, x any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	text, err := harness.Get(ctx, "http://"+r.addr+path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, x)
}

// collect waits until the collection ends or is refused.
func (r *replica) collect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addr+"/collect", nil)
	if err != nil {
		return
	}
	req.Close = true // it must not keep the service from draining
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}

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
	return o
}

func (s *system) load(ctx context.Context, rate float64, forced bool) error {
	var before []stats
	var failed error
	var busy machine.Times
	var faults int
	var still time.Duration
	var running sync.WaitGroup
	during, end := context.WithCancel(ctx)
	defer end()
	o := s.options(rate)
	o.OnMeasure = func() {
		before, failed = s.stats(ctx)
		busy, _ = machine.ReadTimes() // the harness reports the error
		faults = s.faults()
		running.Go(func() { still = oversleep(during) })
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
	_, err := s.Measure(ctx, o, servers...)
	s.Set("faults/request", float64(s.faults()-faults)/max(s.Values["requests"], 1))
	end()
	if now, err := machine.ReadTimes(); err == nil {
		s.Set("busy", (now.Used-busy.Used).Seconds()/s.Length.Seconds()/float64(runtime.NumCPU()))
	}
	running.Wait()
	s.Set("still ms", still.Seconds()*1e3)
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	after, err := s.stats(ctx)
	if err != nil {
		return err
	}
	err = s.count(before, after)
	if s.way.counts {
		err = errors.Join(err, s.announcements(ctx, after))
	}
	if s.caller != nil {
		err = errors.Join(err, s.caller.after(ctx, s.Run))
	}
	return err
}

func (s *system) count(before, after []stats) error {
	var collections, own int64
	var overlapped uint64
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
	return nil
}

// oversleep returns by how much a sleep of this process took too long, at most. That tells a machine that
// stood still from a service that did.
func oversleep(ctx context.Context) (longest time.Duration) {
	const sleep = 10 * time.Millisecond
	for begin := time.Now(); harness.Wait(ctx, sleep) == nil; begin = time.Now() {
		longest = max(longest, time.Since(begin)-sleep)
	}
	return longest
}

// faults counts the replicas' page faults that needed no disk (proc_pid_stat(5), minflt).
func (s *system) faults() (sum int) {
	for _, r := range s.replicas {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.Pid())) // Measure reports one that has ended
		if _, rest, _ := strings.Cut(string(text), ") "); rest != "" {
			n, _ := strconv.Atoi(strings.Fields(rest)[7])
			sum += n
		}
	}
	return sum
}

const forcedEvery = 50 * time.Millisecond

func (s *system) collectTogether(ctx context.Context) {
	for ctx.Err() == nil {
		var asked sync.WaitGroup
		for _, r := range s.replicas {
			asked.Go(func() { r.collect(ctx) })
		}
		asked.Wait()
		_ = harness.Wait(ctx, rand.N(forcedEvery))
	}
}

// of requests that may follow an announcement and its confirmation
const (
	mostAfter   = 10
	mostDrained = 2
)

func (s *system) announcements(ctx context.Context, now []stats) error {
	var polls, ignored, late int
	var last []time.Duration
	var draining gcgate.Duration
	for i, r := range s.replicas {
		var c struct {
			Polls       int
			Collections []struct {
				Announced, Drained int // requests after it
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
		drained := now[i].Gate.Phases[gcgate.StateDraining]
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

// hold opens idle connections to each replica, past the balancer, because HAProxy would keep them
// for itself.
func (s *system) hold(ctx context.Context) error {
	n := harness.Unless(s.Run, s.way.idle, min(s.way.idle, 50))
	if err := harness.Files(n*len(s.replicas) + 512); err != nil {
		return harness.NotHere(err)
	}
	dialer := net.Dialer{KeepAlive: -1} // the kernel sends no probes
	for _, r := range s.replicas {
		for range n {
			c, err := dialer.DialContext(ctx, "tcp", r.addr)
			if err != nil {
				return err
			}
			s.idle = append(s.idle, c)
			if err := answered(c, r.addr); err != nil {
				return err
			}
		}
	}
	return nil
}

// answered asks for /stats, because /push would leave garbage.
func answered(c net.Conn, addr string) error {
	if _, err := fmt.Fprintf(c, "GET /stats HTTP/1.1\r\nHost: %s\r\n\r\n", addr); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s/stats: %s", addr, resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
