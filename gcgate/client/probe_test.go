package client

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/internal/inband"
)

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
