//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/encoding/protodelim"

	"evenkeel.dev/contrib/raftgate"
	"evenkeel.dev/examples/child"
	"evenkeel.dev/examples/internal/program"
	"evenkeel.dev/examples/raftkv/kv"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
)

// patience ends what hangs.
const patience = 2 * time.Minute

type group struct {
	t       *testing.T
	urls    []string
	members []*child.Child
	events  []string
	client  *http.Client
	clients *kv.Group
}

var listening = regexp.MustCompile(`msg=listening url=(\S+)`)

func TestMain(m *testing.M) { program.Main(main, func() { leaks.Main(m) }) }

// TestTune tests that the gate knows the number of members.
func TestTune(t *testing.T) {
	r := raftkv{members: "http://a,http://b,http://c"}
	var o gcgate.Options
	if r.tune(&o); o.Replicas != 3 {
		t.Errorf("%d replicas", o.Replicas)
	}
}

func TestRaftkv(t *testing.T) {
	testutil.Slow(t, "starts a cluster")
	path := os.Args[0]
	t.Run("transfers", func(t *testing.T) { testTransfers(t, path) })
	t.Run("a follower is stopped", func(t *testing.T) { testStoppedFollower(t, path) })
	t.Run("the successor is stopped", func(t *testing.T) { testStoppedSuccessor(t, path) })
	t.Run("the turn is taken", func(t *testing.T) { testTurnTaken(t, path) })
	t.Run("the leader dies", func(t *testing.T) { testLeaderDies(t, path) })
	t.Run("refuses", func(t *testing.T) {
		program.Refuses(t, path, 2, "choose 1 to 3", "-id", "4")
		program.Refuses(t, path, 2, "is no URL", "-members", "127.0.0.1:1")
		program.Refuses(t, path, 2, "the window", "-batch", "0")
		for _, turns := range []string{"-turns=x", "-etcd=x", "-leases", "-group=x", "-no-turns", "-replicas=3"} {
			program.Refuses(t, path, 2, "the members take turns among themselves", "-gate", turns)
		}
	})
}

func start(t *testing.T, path string, args ...string) *group {
	return startVia(t, func(_ int, url string) string { return url }, path, args...)
}

// startVia is start, but others reach a member that listens at url by what via returns.
func startVia(t *testing.T, via func(index int, url string) string, path string, args ...string) *group {
	g := &group{t: t, client: &http.Client{}}
	t.Cleanup(g.client.CloseIdleConnections)
	dir := t.TempDir()
	for len(g.urls) < 3 {
		if url := "http://" + freeAddr(t); !slices.Contains(g.urls, url) {
			g.urls = append(g.urls, url)
		}
	}
	var reached []string
	for i, url := range g.urls {
		reached = append(reached, via(i, url))
	}
	for i, url := range g.urls {
		events := filepath.Join(dir, fmt.Sprint(i))
		args := append([]string{
			path, "-id", fmt.Sprint(i + 1), "-addr", strings.TrimPrefix(url, "http://"), "-members",
			strings.Join(reached, ","),
			"-gate", "-events", events,
		}, args...)
		c, err := child.Start(t.Context(), child.Options{Args: args, Ready: listening})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Kill)
		g.members, g.events = append(g.members, c), append(g.events, events)
	}
	g.clients = &kv.Group{Members: reached, HTTP: g.client}
	g.leader()
	return g
}

// freeAddr returns a port that the kernel gives to no connection.
func freeAddr(t *testing.T) string {
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 31000+rand.IntN(1000))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no port is free from 31000 to 31999")
	return ""
}

type seen struct {
	Leader, Term, Applied uint64
	Member                raftgate.Stats
	Gate                  struct {
		Collections map[gcgate.Reason]uint64
		WithoutTurn uint64
	}
}

func (g *group) stats(i int) (s seen) {
	g.t.Helper()
	resp, err := g.client.Get(g.urls[i] + "/stats")
	if err == nil {
		defer resp.Body.Close()
		err = json.NewDecoder(resp.Body).Decode(&s)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// term returns the highest term. Each change of the leader begins one.
func (g *group) term() (highest uint64) {
	for i := range g.urls {
		highest = max(highest, g.stats(i).Term)
	}
	return highest
}

// leader waits until all members agree on one, without those in but.
func (g *group) leader(but ...int) int {
	g.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var leaders []uint64
		for i := range g.urls {
			if !slices.Contains(but, i) {
				leaders = append(leaders, g.stats(i).Leader)
			}
		}
		slices.Sort(leaders)
		all := leaders[0] == leaders[len(leaders)-1]
		if leader := int(leaders[0]) - 1; all && leader >= 0 && !slices.Contains(but, leader) {
			return leader
		}
	}
	g.t.Fatal("no leader")
	return 0
}

// write has n clients write. stop returns the last value of each key.
func (g *group) write(n int, pause time.Duration) (stop func() (values map[string]string, written int)) {
	ctx, cancel := context.WithCancel(g.t.Context())
	var mu sync.Mutex
	values, written := map[string]string{}, 0
	var running sync.WaitGroup
	for i := range n {
		c, key := &kv.Client{Group: g.clients, ID: fmt.Sprint("client", i)}, fmt.Sprint("key", i)
		running.Go(func() {
			for v := 0; ctx.Err() == nil; v++ {
				value := fmt.Sprint(v)
				bound, done := context.WithTimeout(context.Background(), patience)
				err := c.Put(bound, key, value)
				done()
				if err != nil {
					g.t.Error(err)
					return
				}
				mu.Lock()
				values[key] = value
				written++
				mu.Unlock()
				time.Sleep(pause)
			}
		})
	}
	return func() (map[string]string, int) {
		cancel()
		running.Wait()
		return values, written
	}
}

// check waits until all members have the clients' values.
func (g *group) check(values map[string]string) {
	g.t.Helper()
	for i, url := range g.urls {
		for key, want := range values {
			got := ""
			for end := time.Now().Add(patience); got != want &&
				time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				resp, err := g.client.Get(url + "/kv/" + key)
				if err != nil {
					g.t.Fatal(err)
				}
				text, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				got = string(text)
			}
			if got != want {
				g.t.Errorf("member %d has %s=%s, want %s", i+1, key, got, want)
			}
		}
	}
}

// collecting returns how many members collected at once, and how many collections there were. Call
// it after the members' end.
func (g *group) collecting() (most, all int) {
	type change struct {
		T      time.Time    `json:"t"`
		Source string       `json:"source"`
		State  gcgate.State `json:"state"`
	}
	var changes []change
	for _, name := range g.events {
		text, err := os.ReadFile(name)
		if err != nil {
			g.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var c change
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				g.t.Fatal(err)
			}
			changes = append(changes, c)
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.T.Compare(b.T) })
	away := map[string]bool{}
	for _, c := range changes {
		delete(away, c.Source)
		if c.State == gcgate.StateCollecting {
			away[c.Source] = true
			all++
			most = max(most, len(away))
		}
	}
	return most, all
}

func (g *group) stop() {
	for _, m := range g.members {
		if err := m.Stop(); err != nil {
			g.t.Error(err)
		}
	}
}

// testTransfers writes while the members collect. No write is lost, and the leader's heap is
// collected by a follower.
func testTransfers(t *testing.T, path string) {
	// Each heap is at its trigger after 64 MiB, which are 256 writes.
	g := start(t, path, "-window", "20000", "-batch", "256", "-min-trigger", "64MiB", "-max-trigger", "64MiB")
	enough := uint64(15)
	if testutil.Checking() {
		enough = 60
	}
	const clients = 4
	// A late write is not sent again. One that an election lost is.
	g.clients.AttemptTimeout = 10 * time.Second
	begin := g.term()
	stop := g.write(clients, 2*time.Millisecond)
	var collections, transfers, kept, alone uint64
	for end := time.Now().Add(patience); collections < enough &&
		time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		collections, transfers, kept, alone = 0, 0, 0, 0
		for i := range g.urls {
			s := g.stats(i)
			for _, n := range s.Gate.Collections {
				collections += n
			}
			transfers += s.Member.Transfers
			kept += s.Member.KeptLeading
			alone += s.Gate.WithoutTurn
		}
	}
	values, written := stop()
	g.check(values)
	terms := g.term() - begin
	retried := g.clients.Retried.Load()
	g.stop()
	most, all := g.collecting()
	t.Logf("%d writes, %d collections (%d without a turn), %d at once, %d transfers, %d kept leading, %d terms, %d "+
		"retried",
		written, all, alone, most, transfers, kept, terms, retried)
	if most > 1 && alone == 0 && terms <= transfers {
		// An election on a busy machine may lose the turn that a leader gave.
		t.Errorf("%d members collected at once", most)
	}
	if collections < enough || transfers == 0 {
		t.Errorf("%d collections, %d transfers", collections, transfers)
	}
	// A term without a transfer is an election, as a busy machine causes. The new leader may be the
	// next one to collect.
	elections := max(terms, transfers) - transfers
	// The scheduler decides whose heap is full first. contrib/raftgate counts transfers.
	if transfers > collections+elections {
		t.Errorf("%d transfers for %d collections and %d elections", transfers, collections, elections)
	}
	if retried > transfers+clients*elections {
		t.Errorf("%d writes were sent again for %d transfers and %d elections", retried, transfers, elections)
	}
}

// testTurnTaken writes while no member gets the turn. They collect at their hard limits, and no
// write is lost.
func testTurnTaken(t *testing.T, path string) {
	g := start(t, path, "-window", "5000", "-batch", "64", "-min-trigger", "16MiB", "-max-trigger", "16MiB",
		"-turn-taken")
	stop := g.write(4, 2*time.Millisecond)
	var alone uint64
	for end := time.Now().Add(patience); alone < 3 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		alone = 0
		for i := range g.urls {
			alone += g.stats(i).Gate.WithoutTurn
		}
	}
	values, _ := stop()
	g.check(values)
	if alone < 3 {
		t.Errorf("%d collections without the turn", alone)
	}
	g.stop()
}

// testStoppedFollower stops a member while the leader wants to collect. The leader does not wait
// for it for ever, and no write is lost.
func testStoppedFollower(t *testing.T, path string) {
	g := start(t, path, "-window", "1000", "-batch", "1")
	write := g.write(2, 2*time.Millisecond)
	old := g.leader()
	stopped := (old + 1) % 3
	if err := stop(g.members[stopped]); err != nil {
		t.Fatal(err)
	}
	resp, err := g.client.Post(g.urls[old]+"/collect", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	g.leader(stopped) // the third, or the old one on a busy machine
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the collection of %d, while %d is stopped: %s", old+1, stopped+1, resp.Status)
	}
	if err := g.members[stopped].Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	values, _ := write()
	g.check(values)
	g.stop()
}

// stop returns when no thread of the process runs any more. The kernel lets them run until the one
// that takes the signal has had a processor (signal(7)).
func stop(c *child.Child) error {
	if err := c.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", c.Pid()))
		if err != nil || len(threads) == 0 {
			return err
		}
		if !slices.ContainsFunc(threads, func(name string) bool {
			stat, err := os.ReadFile(name)
			return err == nil && !bytes.Contains(stat, []byte(") T "))
		}) {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// testStoppedSuccessor stops the successor when it is told to lead. A proxy knows when that is.
// Another one leads.
func testStoppedSuccessor(t *testing.T, path string) {
	var g *group
	var armed atomic.Bool
	stopped := make(chan int, 1)
	g = startVia(t, func(i int, url string) string {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/raft" {
				forward(w, r, url, r.Body)
				return
			}
			body, out := io.Pipe()
			defer body.Close()
			go func() {
				out.CloseWithError(passOn(out, r.Body, func(m *raftpb.Message) {
					if m.GetType() == raftpb.MsgTimeoutNow && armed.CompareAndSwap(true, false) {
						if err := stop(g.members[i]); err != nil {
							t.Error(err)
						}
						stopped <- i
					}
				}))
			}()
			forward(w, r, url, body)
		}))
		t.Cleanup(proxy.Close)
		return proxy.URL
	}, path, "-window", "1000", "-batch", "1")
	write := g.write(2, 2*time.Millisecond)
	old := 0
	armed.Store(true)
	for end := time.Now().Add(patience); armed.Load(); {
		// Again if it no longer led, or found no successor.
		if time.Now().After(end) {
			t.Fatal("nobody was told to lead")
		}
		old = g.leader()
		resp, err := g.client.Post(g.urls[old]+"/collect", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	was := <-stopped
	g.leader(was) // the third, or the old one on a busy machine
	if s := g.stats(old).Member; s.GivenUp == 0 {
		t.Errorf("nobody was given up: %+v", s)
	}
	if err := g.members[was].Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	values, _ := write()
	g.check(values)
	g.stop()
}

func passOn(to io.Writer, from io.Reader, look func(*raftpb.Message)) error {
	for in := bufio.NewReader(from); ; {
		m := &raftpb.Message{}
		if err := protodelim.UnmarshalFrom(in, m); err != nil {
			return err
		}
		look(m)
		if _, err := protodelim.MarshalTo(to, m); err != nil {
			return err
		}
	}
}

func forward(w http.ResponseWriter, r *http.Request, url string, body io.Reader) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, url+r.URL.Path, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	req.Header = r.Header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

// testLeaderDies kills the leader. The others go on, and collect.
func testLeaderDies(t *testing.T, path string) {
	g := start(t, path, "-window", "1000", "-batch", "1")
	write := g.write(2, 2*time.Millisecond)
	dead := g.leader()
	g.members[dead].Kill()
	leader := g.leader(dead)
	resp, err := g.client.Post(g.urls[leader]+"/collect", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	values, _ := write()
	g.urls = slices.Delete(g.urls, dead, dead+1)
	g.check(values)
	if resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
}
