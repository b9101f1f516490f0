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
