package client

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/internal/inband"
)

// fakeBase answers by host, in virtual time.
type fakeBase map[string]func(*http.Request) (*http.Response, error)

func (f fakeBase) RoundTrip(r *http.Request) (*http.Response, error) { return f[r.URL.Host](r) }

func answer(status int, header ...string) (*http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Add(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status),
		Header: h, Body: io.NopCloser(strings.NewReader("")),
	}, nil
}

func noDial() (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

func ok(*http.Request) (*http.Response, error) { return answer(200) }

func isProbe(r *http.Request) bool { return inband.IsOne(r.Header, inband.HeaderProbe) }

// do sends one request to a fake, and fails the test when that fails.
func do(t *testing.T, tr *Transport) {
	t.Helper()
	req, _ := http.NewRequest("GET", "http://service.test/", nil)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return
	}
	resp.Body.Close()
}

// TestDialBackoff counts the dials of a target that nothing listens on, and sees it come back.
func TestDialBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []int
		alive := false
		tr := &Transport{Targets: []string{"http://b", "http://a"}, Base: fakeBase{
			"a": func(*http.Request) (*http.Response, error) {
				at = append(at, int(time.Since(begin).Milliseconds()))
				if alive {
					return answer(200)
				}
				return noDial()
			},
			"b": ok,
		}}
		for time.Since(begin) < 8*time.Second {
			do(t, tr)
			time.Sleep(500 * time.Microsecond)
		}
		if want := "[0 100 300 700 1500 3100 5100 7100]"; fmt.Sprint(at) != want {
			t.Errorf("dialed at %v, want %s", at, want)
		}
		alive = true
		time.Sleep(2 * time.Second)
		at = nil
		for range 20 {
			do(t, tr)
		}
		if len(at) != 10 && len(at) != 11 { // the first tries, then it has half
			t.Errorf("alive again, it got %d of 20", len(at))
		}
	})
}

// TestPickShares: with one of four drained the others share alike.
func TestPickShares(t *testing.T) {
	tr := &Transport{Targets: []string{"http://a", "http://b", "http://c", "http://d"}}
	if err := tr.init(); err != nil {
		t.Fatal(err)
	}
	tr.pool.targets[1].drained.Store(tr.pool.clock() + int64(time.Hour))
	var n [4]int
	for range 300 {
		n[tr.pool.pick(make([]bool, 4), true).index]++
	}
	if n != [4]int{100, 0, 100, 100} {
		t.Errorf("shares %v, want 100, 0, 100, 100", n)
	}
}

// TestPickLast: drained before left out, the soonest first, each once.
func TestPickLast(t *testing.T) {
	tr := &Transport{Targets: []string{"http://a", "http://b", "http://c", "http://d"}}
	if err := tr.init(); err != nil {
		t.Fatal(err)
	}
	now := tr.pool.clock()
	tr.pool.targets[0].out.Store(now + int64(time.Hour))
	tr.pool.targets[1].drained.Store(now + int64(2*time.Hour))
	tr.pool.targets[2].drained.Store(now + int64(time.Hour))
	tr.pool.targets[3].out.Store(now + int64(time.Minute))
	tried := make([]bool, 4)
	for _, want := range []int{2, 1, 3, 0} {
		g := tr.pool.pick(tried, true)
		if g == nil || g.index != want {
			t.Fatalf("got %v, want target %d", g, want)
		}
		tried[want] = true
	}
	if g := tr.pool.pick(tried, true); g != nil {
		t.Errorf("got %v after all were tried", g)
	}
}

// TestPickTries: one request tries a target whose time is over, unless it is drained, too; a
// request that could not go elsewhere does not.
func TestPickTries(t *testing.T) { synctest.Test(t, testPickTries) }

func testPickTries(t *testing.T) {
	tr := &Transport{Targets: []string{"http://a", "http://b", "http://c"}}
	if err := tr.init(); err != nil {
		t.Fatal(err)
	}
	a, b := tr.pool.targets[0], tr.pool.targets[1]
	past := tr.pool.clock()
	a.out.Store(past)
	a.drained.Store(past + int64(time.Hour))
	b.out.Store(past)
	time.Sleep(time.Millisecond)
	for i, tt := range []struct {
		again bool
		want  int
	}{{false, 2}, {true, 1}, {true, 2}, {true, 2}} {
		if g := tr.pool.pick(make([]bool, 3), tt.again); g.index != tt.want {
			t.Errorf("pick %d: target %d, want %d", i, g.index, tt.want)
		}
	}
}

// TestTargetIsTriedByAnyRequest in the end: where none could be sent again, one that is left out
// would never be used.
func TestTargetIsTriedByAnyRequest(t *testing.T) { synctest.Test(t, testTargetIsTriedByAnyRequest) }

func testTargetIsTriedByAnyRequest(t *testing.T) {
	p := &pool{epoch: time.Now(), targets: []*target{{}, {}}}
	g := p.targets[0]
	g.fail(p.clock())
	picks := func() (n int) {
		for range 4 {
			if p.pick(make([]bool, 2), false) == g {
				n++
			}
		}
		return n
	}
	if n := picks(); n > 0 {
		t.Errorf("tried %d times at once", n)
	}
	p.epoch = p.epoch.Add(-minOut - maxOut/2)
	if n := picks(); n > 0 {
		t.Errorf("tried %d times where requests that can be sent again may come", n)
	}
	p.epoch = p.epoch.Add(-maxOut)
	if n := picks(); n != 1 {
		t.Errorf("tried %d times in the end, want once", n)
	}
}

// schedule is a target's answers to probes, and what must follow.
type schedule struct {
	name    string
	answers []func() (*http.Response, error) // the last one repeats
	at      []int                            // ms of the first probes
	total   int                              // probes in all
	silent  time.Duration                    // how long no request came
}

// TestProbeSchedule records when a target that announced 200 ms is probed, by its answers.
func TestProbeSchedule(t *testing.T) {
	drained := func(ms string) func() (*http.Response, error) {
		return func() (*http.Response, error) { return answer(204, inband.HeaderDrain, ms) }
	}
	status := func(n int) func() (*http.Response, error) {
		return func() (*http.Response, error) { return answer(n) }
	}
	back := status(204)
	for _, tt := range []schedule{
		{"back at once", []func() (*http.Response, error){back}, []int{140}, 1, 140 * time.Millisecond},
		{
			"any moment now",
			[]func() (*http.Response, error){drained("1"), drained("1"), back},
			[]int{140, 160, 180},
			3, 180 * time.Millisecond,
		},
		{
			"a while yet",
			[]func() (*http.Response, error){drained("50"), drained("5000"), back},
			[]int{140, 160, 260},
			3, 260 * time.Millisecond,
		},
		{
			"errors",
			[]func() (*http.Response, error){noDial, noDial, status(502), noDial, noDial, noDial, noDial, back},
			[]int{140, 180, 260, 420, 740, 1240, 1740, 2240},
			8, 2240 * time.Millisecond,
		},
		{
			"not answered by the middleware",
			[]func() (*http.Response, error){status(404)},
			[]int{140, 160, 180},
			4, 200 * time.Millisecond,
		},
		{
			"drained for ever", // 100 ms each, for 30 s
			[]func() (*http.Response, error){drained("600000")},
			[]int{140, 240, 340},
			301, 30140 * time.Millisecond,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tt.run(t) })
		})
	}
}

// run sends requests to a, which announces once and then answers probes as tt says, and to b.
func (tt *schedule) run(t *testing.T) {
	begin := time.Now()
	var at []int
	var returned time.Duration
	announced := false
	tr := &Transport{Targets: []string{"http://b", "http://a"}, Base: fakeBase{
		"a": func(r *http.Request) (*http.Response, error) {
			switch {
			case isProbe(r):
				if r.Method != "GET" || r.URL.Path != "/" || r.Host != "service.test" {
					t.Errorf("the probe is %s %s of %s", r.Method, r.URL, r.Host)
				}
				at = append(at, int(time.Since(begin).Milliseconds()))
				return tt.answers[min(len(at), len(tt.answers))-1]()
			case !announced:
				announced = true
				return answer(200, inband.HeaderDrain, "200")
			case returned == 0:
				returned = time.Since(begin)
			}
			return answer(200)
		},
		"b": ok,
	}}
	for time.Since(begin) < 40*time.Second && returned == 0 {
		do(t, tr)
		time.Sleep(500 * time.Microsecond)
		synctest.Wait()
	}
	if d := returned - tt.silent; d < 0 || d > 5*time.Millisecond {
		t.Errorf("requests came again after %v, want %v", returned, tt.silent)
	}
	if len(at) != tt.total || fmt.Sprint(at[:len(tt.at)]) != fmt.Sprint(tt.at) {
		t.Errorf("%d probes at %v, want %d at %v ...", len(at), at[:min(len(at), 20)], tt.total, tt.at)
	}
	synctest.Wait()
	if tr.pool.targets[1].stop != nil {
		t.Error("its goroutine has not ended")
	}
}

// TestStaleAnnouncement delivers an announcement after the absence it speaks of.
func TestStaleAnnouncement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		tr := &Transport{
			Targets: []string{"http://a"},
			Base: fakeBase{"a": func(r *http.Request) (*http.Response, error) {
				if isProbe(r) {
					return answer(204)
				}
				if n++; n == 1 {
					time.Sleep(300 * time.Millisecond) // a slow answer
				}
				return answer(200, inband.HeaderDrain, "100")
			}},
		}
		done := make(chan struct{})
		go func() { defer close(done); do(t, tr) }()
		synctest.Wait()
		do(t, tr) // announces until 100 ms
		time.Sleep(200 * time.Millisecond)
		g := tr.pool.targets[0]
		if g.drained.Load() != 0 {
			t.Fatal("not back after the probe")
		}
		<-done
		if g.drained.Load() != 0 || g.stop != nil {
			t.Error("the slow answer took the target out again")
		}
	})
}

// TestSlowAnnouncement: the time counts from the sending of the request.
func TestSlowAnnouncement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var probed time.Duration
		tr := &Transport{
			Targets: []string{"http://a"},
			Base: fakeBase{"a": func(r *http.Request) (*http.Response, error) {
				if isProbe(r) {
					probed = time.Since(begin)
					return answer(204)
				}
				time.Sleep(80 * time.Millisecond)
				return answer(200, inband.HeaderDrain, "100")
			}},
		}
		do(t, tr)
		time.Sleep(time.Second)
		synctest.Wait()
		if probed != 80*time.Millisecond {
			t.Errorf("probed after %v, want 80ms: at once, 0.7 of the time is over", probed)
		}
	})
}
