package across_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/internal/across"
	"evenkeel.dev/internal/cputime"
	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/region"
)

// A fleet is four processes of this test's binary:
//
//	shop ──┬── prices
//	       └── stock ──── store
const roleEnv = "EVENKEEL_FLEET"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		serve(role)
		return
	}
	os.Exit(m.Run())
}

// service is one process. cause is what makes one in some requests slow.
type service struct {
	name, cause string
	peers       map[string]string
	client      *http.Client

	mu   sync.Mutex
	pool chan struct{}
	n    int

	heap, young *node
}

// serve prints the address, and takes the peers as JSON.
func serve(role string) {
	name, cause, _ := strings.Cut(role, " ")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	s := &service{name: name, cause: cause, pool: make(chan struct{}, 1)}
	if err := json.NewDecoder(os.Stdin).Decode(&s.peers); err != nil {
		panic(err)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(s.peers["protocol"] != "h2")
	protocols.SetUnencryptedHTTP2(s.peers["protocol"] == "h2")
	idle := 64
	if s.peers["idle"] == "few" {
		idle = 2 // the default
	}
	var transport http.RoundTripper = &http.Transport{MaxIdleConnsPerHost: idle, Protocols: &protocols}
	var handler http.Handler = http.HandlerFunc(s.answer)
	if s.peers["marks"] != "none" {
		transport, handler = region.Transport(transport), region.Middleware(handler)
	}
	s.client = &http.Client{Transport: transport}
	switch cause {
	case "lock":
		go s.reload()
	case "gc":
		s.fill()
	}
	http.Handle("/", handler)
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }() // the test has ended
	protocols.SetHTTP1(true)                                         // of the test
	panic((&http.Server{Protocols: &protocols}).Serve(ln))
}

// slow is long next to what a busy machine does to a request.
const slow = 200 * time.Millisecond

func (s *service) reload() {
	for {
		time.Sleep(400 * time.Millisecond)
		s.mu.Lock()
		time.Sleep(slow)
		s.mu.Unlock()
	}
}

func (s *service) look() {
	s.mu.Lock()
	s.n++
	s.mu.Unlock()
}

// each reports whether this is one of so many requests.
func (s *service) each(of int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return s.n%of == 0
}

func (s *service) takeFromPool() {
	s.pool <- struct{}{}
	if s.each(30) {
		time.Sleep(slow)
	}
	<-s.pool
}

func (s *service) save() {
	f, err := os.CreateTemp("", "fleet-")
	if err != nil {
		panic(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	for start := time.Now(); time.Since(start) < slow; {
		_, _ = f.Write(make([]byte, 1<<20))
		_ = f.Sync()
	}
}

// node makes the collector follow a pointer.
type node struct {
	next *node
	_    [3]int
}

// fill makes collections long and frequent.
func (s *service) fill() {
	debug.SetGCPercent(10)
	for range 1_000_000 {
		s.heap = &node{next: s.heap}
	}
}

func (s *service) allocate() {
	for range 6000 {
		s.young = &node{}
	}
}

// compute uses up the CPU of several periods of the quota.
func (s *service) compute() {
	for start := cputime.Process(); cputime.Process()-start < 3*quota; {
	}
}

const quota = 20 * time.Millisecond // in each 100 ms

func (s *service) pause() { time.Sleep(slow) }

func (s *service) rest() { time.Sleep(slow) }

func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	switch s.cause {
	case "lock":
		s.look()
	case "pool":
		s.takeFromPool()
	case "gc":
		s.allocate()
	case "sleep":
		if s.each(30) {
			s.rest()
		}
	case "disk":
		if s.each(30) {
			s.save()
		}
	case "quota":
		if s.each(30) {
			s.compute()
		}
	case "refuse":
		if s.each(30) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
	case "one of ten":
		if strings.HasSuffix(r.URL.Path, "/7") && s.each(30) {
			s.rest()
		}
	}
	if s.cause == "fan-out" {
		s.fanOut(r.Context())
	} else {
		for _, peer := range []string{"prices", "stock", "store"} {
			if s.peers[peer] != "" {
				s.call(r.Context(), peer, "/")
			}
		}
	}
	fmt.Fprintln(w, s.name)
}

func (s *service) call(ctx context.Context, peer, path string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.peers[peer]+path, nil)
	if err != nil {
		panic(err)
	}
	for {
		res, err := s.client.Do(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusServiceUnavailable {
			return
		}
		s.pause()
	}
}

func (s *service) fanOut(ctx context.Context) {
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() { s.call(ctx, "prices", fmt.Sprintf("/%d", i)) })
	}
	all.Wait()
}

type fleet struct {
	t     *testing.T
	addrs map[string]string
	pids  map[string]int // of services with a quota
}

// settings are for all services.
var settings = []string{"protocol", "marks", "idle"}

// start starts the services with a cause each. The cause of the way to prices is a queue.
func start(t *testing.T, causes map[string]string) *fleet {
	f := &fleet{t, map[string]string{}, map[string]int{}}
	for _, s := range settings {
		f.addrs[s] = causes[s]
	}
	f.service("store", causes)
	f.service("stock", causes, "store")
	f.service("prices", causes)
	if causes["way"] != "" {
		f.addrs["prices direct"] = f.addrs["prices"]
		f.addrs["prices"] = f.queue(f.addrs["prices"])
	}
	f.service("shop", causes, "prices", "stock")
	return f
}

// queue passes connections on, and holds them all up at times.
func (f *fleet) queue(to string) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { ln.Close() })
	var mu sync.RWMutex
	go func() {
		for f.t.Context().Err() == nil {
			time.Sleep(400 * time.Millisecond)
			mu.Lock()
			time.Sleep(slow)
			mu.Unlock()
		}
	}()
	pass := func(to, from net.Conn) {
		defer to.Close()
		b := make([]byte, 4096)
		for {
			n, err := from.Read(b)
			if err != nil {
				return
			}
			mu.RLock()
			mu.RUnlock() //nolint:staticcheck // it waits
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				return
			}
			go pass(s, c)
			go pass(c, s)
		}
	}()
	return ln.Addr().String()
}

func (f *fleet) service(name string, causes map[string]string, peers ...string) {
	exe, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), roleEnv+"="+name+" "+causes[name])
	c.Stderr = os.Stderr
	in, inErr := c.StdinPipe()
	out, outErr := c.StdoutPipe()
	group := ""
	if causes[name] == "quota" {
		group = testutil.QuotaGroup(f.t, quota)
	}
	if err := errors.Join(inErr, outErr, c.Start()); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { in.Close(); _ = c.Wait() })
	if group != "" {
		f.pids[name] = c.Process.Pid
		err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(c.Process.Pid)), 0)
		if err != nil {
			f.t.Fatal(err)
		}
	}
	known := map[string]string{}
	for _, p := range append(peers, settings...) {
		known[p] = f.addrs[p]
	}
	if err := json.NewEncoder(in).Encode(known); err != nil {
		f.t.Fatal(err)
	}
	var addr string
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		f.t.Fatal(err)
	}
	f.addrs[name] = addr
}

// story loads the shop and explains it.
func (f *fleet) story(length time.Duration) *across.Story {
	var joined across.Fleet
	f.trace(4, length, func(name string) (func(reqtrace.Request), func(*reqtrace.Report)) {
		s := joined.Service(name)
		return s.Add, s.End
	})
	return joined.Join()
}

// trace loads the shop by some clients, and analyses each service.
func (f *fleet) trace(
	clients int, length time.Duration, each func(name string) (func(reqtrace.Request), func(*reqtrace.Report)),
) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(f.t.Context())
	var load sync.WaitGroup
	for range clients {
		load.Go(func() {
			for ctx.Err() == nil {
				r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.addrs["shop"]+"/", nil)
				if res, err := client.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	names := []string{"shop", "prices", "stock", "store"}
	traces := make([][]byte, len(names))
	seen := make([]*cpuwatch.Beside, len(names))
	var taken sync.WaitGroup
	for i, name := range names {
		taken.Go(func() {
			if pid := f.pids[name]; pid != 0 {
				watch, err := cpuwatch.Start(pid, true)
				if err != nil {
					f.t.Error(err)
				}
				defer func() { seen[i] = &cpuwatch.Beside{CPU: watch.End()} }()
			}
			at := cmp.Or(f.addrs[name+" direct"], f.addrs[name])
			res, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/trace?seconds=%g", at, length.Seconds()))
			if err != nil {
				f.t.Error(err)
				return
			}
			defer res.Body.Close()
			if traces[i], err = io.ReadAll(res.Body); err != nil {
				f.t.Error(err)
			}
		})
	}
	taken.Wait()
	cancel()
	load.Wait()
	for i, name := range names {
		add, end := each(name)
		r, err := reqtrace.Analyze(f.t.Context(), bytes.NewReader(traces[i]),
			reqtrace.Options{Each: add, Beside: seen[i]})
		var none *reqtrace.NoRequestsError
		if err != nil && !errors.As(err, &none) {
			f.t.Fatal(name, err)
		}
		end(r)
	}
}

type causes map[string]string // by service

func on64Bits(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("make check runs it on 64 bits")
	}
}

// TestPlanted: the service and the line that a cause was planted in come first, one and two levels down.
func TestPlanted(t *testing.T) {
	on64Bits(t)
	testutil.Slow(t, "it traces fleets of four processes")
	for name, tt := range map[string]struct {
		causes
		service, line string // line is "way" on the way there
		quick         bool   // make test runs it, and make check all
	}{
		"own lock":            {causes{"shop": "lock"}, "shop", "(*service).reload ", false},
		"lock one level down": {causes{"prices": "lock"}, "prices", "(*service).reload ", false},
		"lock two levels":     {causes{"store": "lock"}, "store", "(*service).reload ", true},
		"pool":                {causes{"stock": "pool"}, "stock", "(*service).takeFromPool ", false},
		"sleep two levels":    {causes{"store": "sleep"}, "store", "(*service).rest ", false},
		"one of ten":          {causes{"shop": "fan-out", "prices": "one of ten"}, "prices", "(*service).rest ", false},
		"lock over HTTP/2":    {causes{"store": "lock", "protocol": "h2"}, "store", "(*service).reload ", false},
		"disk":                {causes{"store": "disk"}, "store", "(*service).save ", false},
		"quota":               {causes{"store": "quota"}, "store", "CPU quota", false},
		"collections":         {causes{"store": "gc"}, "store", "GC", false},
		"retries":             {causes{"prices": "refuse"}, "shop", "(*service).pause ", false},
		"queue in between":    {causes{"way": "queue"}, "prices", "way", true},
	} {
		for _, marks := range []string{"", "none"} {
			t.Run(strings.TrimRight(name+" "+marks, " "), func(t *testing.T) {
				if !tt.quick || marks == "" {
					testutil.Long(t, "it traces one of many fleets")
				}
				all := causes{"marks": marks}
				maps.Copy(all, tt.causes)
				// Other work on the machine may be slower than the cause, or leave too few requests.
				for _, length := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
					if named(t, start(t, all).story(length), tt.service, tt.line) {
						return
					}
				}
				t.Errorf("want %s in %s", tt.line, tt.service)
			})
		}
	}
}

// TestNothingPlanted: no service is accused if none has a cause. One in twenty may be, because others may
// take more of the machine than machineTakes allows for.
func TestNothingPlanted(t *testing.T) {
	on64Bits(t)
	testutil.Long(t, "it traces fleets of four processes, twenty times")
	accused := 0
	for _, marks := range []string{"", "none"} {
		f := start(t, causes{"marks": marks})
		for range 10 {
			s := f.story(3 * time.Second)
			t.Log(s.Named, s.Sentence, s.Detail, s.Tail-s.Median)
			if s.Named {
				accused++
			}
		}
	}
	if accused > 1 {
		t.Errorf("a service is accused %d times", accused)
	}
}

func named(t *testing.T, s *across.Story, service, line string) bool {
	text := s.Sentence + "\n" + s.Detail + "\n" + s.Fix
	t.Logf("%s\njoined %.3f, %d of %d calls, %v %v", text, s.Joined, s.Found, s.Calls, s.Clocks, s.Caveats)
	for _, p := range s.Parts {
		t.Logf("%s between %t: %v -> %v, %.2f, via %v", p.Service, p.Between, p.Median, p.Tail, p.Share, p.Via)
	}
	return s.Named && s.Parts[0].Service == service && s.Parts[0].Between == (line == "way") &&
		(s.Parts[0].Between || strings.Contains(text, line))
}

// TestOrder compares what connections join with what ids join in the same traces.
func TestOrder(t *testing.T) {
	on64Bits(t)
	testutil.Slow(t, "it traces fleets of four processes")
	for name, set := range map[string]causes{
		"HTTP/1": nil, "HTTP/2": {"protocol": "h2"}, "few idle connections": {"idle": "few"},
		"fan-out": {"shop": "fan-out"},
	} {
		for _, clients := range []int{1, 8, 64} {
			t.Run(fmt.Sprint(name, " ", clients), func(t *testing.T) {
				testutil.Long(t, "it traces one of many fleets")
				var services [][]reqtrace.Request
				start(t, set).trace(clients, 3*time.Second,
					func(string) (func(reqtrace.Request), func(*reqtrace.Report)) {
						i := len(services)
						services = append(services, nil)
						return func(q reqtrace.Request) {
							q.Path, q.Sites = nil, nil
							services[i] = append(services[i], q)
						}, func(*reqtrace.Report) {}
					})
				c := across.Compare(services)
				t.Log(c)
				if c.Strange > 0 { // at any load
					t.Errorf("%d calls between services that do not call each other", c.Strange)
				}
			})
		}
	}
}
