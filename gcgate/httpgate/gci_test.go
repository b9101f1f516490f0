package httpgate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/internal/inband"
)

// newGCI returns a handler that speaks GCI's protocol with 10.0.0.0/8 and the loopback, and a count
// of collections. Each takes what is expected of it.
func newGCI(t *testing.T, expected time.Duration) (*handler, *atomic.Int32) {
	t.Helper()
	g, _ := startGate(t, gcgate.Options{})
	return gciOver(g, expected)
}

func gciOver(g *gcgate.Gate, expected time.Duration) (*handler, *atomic.Int32) {
	h := Wrap(g, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, "served")
	})).(*handler)
	n := new(atomic.Int32)
	h.m.gci = &gci{
		peers:    []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8")},
		heap:     func() uint64 { return 157810688 },
		expected: func() time.Duration { return expected },
		collect: func(context.Context) error {
			time.Sleep(expected)
			n.Add(1)
			return nil
		},
	}
	return h, n
}

func from(addr string, r *http.Request) *http.Request {
	r.RemoteAddr = addr
	return r
}

func TestGCIWho(t *testing.T) {
	const peer = "10.0.0.7:1234"
	for _, tt := range []struct {
		name string
		r    *http.Request
		want string
	}{
		{"peer", from(peer, get("gci", "ch")), "157810688"},
		{"mapped peer", from("[::ffff:10.0.0.7]:1", get("gci", "ch")), "157810688"},
		{"no header", from(peer, get()), "served"},
		{"stranger", from("192.0.2.1:1", get("gci", "ch")), "served"},
		{"loopback when not named", from("[::1]:1", get("gci", "ch")), "served"},
		{"Unix socket", from("@", get("gci", "ch")), "served"},
		{"handed on: X-Forwarded-For", from(peer, get("gci", "ch", "X-Forwarded-For", "10.0.0.8")), "served"},
		{"handed on: Forwarded", from(peer, get("gci", "ch", "Forwarded", "for=10.0.0.8")), "served"},
		{"handed on: Via", from(peer, get("gci", "ch", "Via", "1.1 x")), "served"},
	} {
		m, _ := newGCI(t, 0)
		if body, _ := io.ReadAll(serve(m, tt.r).Body); string(body) != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, body, tt.want)
		}
		m.m.gci = nil
		if body, _ := io.ReadAll(serve(m, tt.r).Body); string(body) != "served" {
			t.Errorf("%s: with the protocol off: %q", tt.name, body)
		}
	}
}

func TestGCIValues(t *testing.T) {
	for _, tt := range []struct {
		values     []string
		status     int
		collection int32
	}{
		{[]string{"ch"}, 200, 0},
		{[]string{"gen1"}, 200, 1},
		{[]string{"gen2"}, 200, 1},
		{[]string{"gc"}, 200, 1},
		{[]string{"GC"}, 400, 0},
		{[]string{""}, 400, 0},
		{[]string{"gen3"}, 400, 0},
		{[]string{"ch", "gc"}, 400, 0},
	} {
		m, n := newGCI(t, 0)
		r := from("10.0.0.7:1", get())
		r.Header["Gci"] = tt.values
		resp := serve(m, r)
		if resp.StatusCode != tt.status || n.Load() != tt.collection {
			t.Errorf("%q: status %d, %d collections, want %d, %d", tt.values, resp.StatusCode, n.Load(),
				tt.status, tt.collection)
		}
		if _, entered := m.m.gate.Requests(); entered != 0 {
			t.Errorf("%q: counted as a request", tt.values)
		}
	}
}

func TestGCISpacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, n := newGCI(t, 300*time.Millisecond)
		force := func() *http.Response { return serve(m, from("10.0.0.7:1", get("gci", "gen1"))) }
		force() // to 300 ms
		resp := force()
		if resp.StatusCode != 200 || resp.Header.Get("Gcgate-Skipped") != "1" ||
			resp.Header.Get("Retry-After") != "1" ||
			n.Load() != 1 {
			t.Errorf("too soon: status %d, %v, %d collections", resp.StatusCode, resp.Header, n.Load())
		}
		time.Sleep(899 * time.Millisecond)
		if force(); n.Load() != 1 {
			t.Error("collected before 4 times the expected duration had passed")
		}
		time.Sleep(time.Millisecond)
		if resp := force(); n.Load() != 2 || resp.Header.Get("Gcgate-Skipped") != "" {
			t.Errorf("after 4 times the expected duration: %d collections, want 2", n.Load())
		}
	})
}

func TestGCIJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, n := newGCI(t, 300*time.Millisecond)
		collect := m.m.gci.collect
		m.m.gci.collect = func(ctx context.Context) error {
			_ = collect(ctx)
			return ctx.Err()
		}
		left, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 5 {
			r := from("10.0.0.7:1", get("gci", "gen1"))
			if i == 0 {
				r = r.WithContext(left)
			}
			wg.Go(func() {
				if resp := serve(m, r); i > 0 && resp.StatusCode != 200 {
					t.Errorf("status %d", resp.StatusCode)
				}
			})
			synctest.Wait()
		}
		cancel() // who asked first leaves: the others still wait for the same collection
		begin := time.Now()
		wg.Wait()
		if d := time.Since(begin); n.Load() != 1 || d != 300*time.Millisecond {
			t.Errorf("%d collections, waited %v, want 1 and 300ms", n.Load(), d)
		}
	})
}

func TestGCIError(t *testing.T) {
	m, _ := newGCI(t, 0)
	m.m.gci.collect = func(context.Context) error { return gcgate.ErrStopped }
	resp := serve(m, from("10.0.0.7:1", get("gci", "gc")))
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 503 ||
		!strings.Contains(string(body), gcgate.ErrStopped.Error()) {
		t.Errorf("status %d, body %q", resp.StatusCode, body)
	}
}

// TestGCIConversation does what gci-proxy does by its README: it counts answers, checks the heap
// after some, and over its threshold sheds, waits for what runs, collects and serves again.
func TestGCIConversation(t *testing.T) {
	m, n := newGCI(t, time.Millisecond)
	var heap atomic.Int64
	var ids atomic.Uint64
	m.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heap.Add(1 << 20)
		_, _ = io.WriteString(w, strconv.FormatUint(ids.Add(1), 10))
	})
	collect := m.m.gci.collect
	m.m.gci.heap = func() uint64 { return uint64(heap.Load()) }
	m.m.gci.collect = func(ctx context.Context) error {
		if n, _ := m.m.gate.Requests(); n != 0 {
			t.Errorf("%d requests in flight at a collection: the peer's own must not count", n)
		}
		heap.Store(0)
		return collect(ctx)
	}
	m.m.gci.expected = func() time.Duration { return 0 }
	s := httptest.NewServer(m)
	defer s.Close()
	do := func(command string) string {
		req, _ := http.NewRequest("GET", s.URL, nil)
		if command != "" {
			req.Header["gci"] = []string{command} // as written, in lower case
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("gci %q: status %d, %v: the proxy would exit", command, resp.StatusCode, err)
		}
		return string(body)
	}
	const threshold = 10 << 20
	skipped := int32(0)
	for i := 1; i <= 100; i++ {
		if got := do(""); got != strconv.Itoa(i) {
			t.Fatalf("request %d was answered %q", i, got)
		}
		if i%10 != 0 {
			continue
		}
		used, err := strconv.ParseInt(do("ch"), 10, 64) // no white space around it
		if err != nil {
			t.Fatal(err)
		}
		if used >= threshold {
			before := n.Load()
			if body := do("gen1"); body != "" {
				t.Errorf("a collection was answered with %q", body)
			}
			if n.Load() == before {
				skipped++
			}
		}
	}
	if n.Load() == 0 || n.Load()+skipped != 10 {
		t.Errorf("%d collections and %d left out, want 10 in all", n.Load(), skipped)
	}
}

func TestGCIWaitsNoLongerThanItsClient(t *testing.T) {
	m, _ := newGCI(t, 0)
	m.m.gci.running = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.m.gci.force(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
}

// FuzzGCI holds the rules of who is served by whom against any header.
func FuzzGCI(f *testing.F) {
	f.Add("ch", "10.0.0.1:1", "", "")
	f.Add("gen1", "10.0.0.1:1", "Via", "x")
	f.Add("gc", "[::ffff:10.0.0.1]:1", "", "")
	f.Add("", "192.0.2.1:1", "Forwarded", "")
	f.Add("ch\r\n", "@", "X-Forwarded-For", "1")
	g, _ := startGate(f, gcgate.Options{})
	f.Fuzz(func(t *testing.T, value, addr, name, other string) {
		m, n := gciOver(g, 0)
		ran := false
		m.next = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran = true })
		r := from(addr, get())
		r.Header.Set(name, other)
		r.Header.Del(inband.HeaderProbe)
		r.Header.Set("gci", value)
		ap, err := netip.ParseAddrPort(addr)
		ip := ap.Addr()
		if err != nil {
			ip, err = netip.ParseAddr(addr)
		}
		ip = ip.Unmap()
		named := err == nil && ip.Is4() && (ip.As4()[0] == 10 || ip.As4()[0] == 127)
		for _, proxied := range []string{"X-Forwarded-For", "Forwarded", "Via"} {
			named = named && r.Header[proxied] == nil
		}
		resp := serve(m, r)
		if ran == named {
			t.Fatalf("%q from %q: the handler ran: %v, a peer: %v", r.Header, addr, ran, named)
		}
		force := value == "gen1" || value == "gen2" || value == "gc"
		if (n.Load() == 1) != (named && force) {
			t.Fatalf("%q from %q: %d collections", r.Header, addr, n.Load())
		}
		if ok := force || value == "ch"; named && (resp.StatusCode == 200) != ok {
			t.Fatalf("%q: status %d", value, resp.StatusCode)
		}
	})
}
