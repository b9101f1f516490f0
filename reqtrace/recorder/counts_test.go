package recorder

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/reqtrace"
)

// TestSeenAfterAll: a slow request whose note had no room, or was given up, counts once, although a trace has it.
func TestSeenAfterAll(t *testing.T) {
	for name, wait := range map[string]time.Duration{"no room": 0, "given up": 40 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.hangs = make(chan bool)
				var r *Recorder
				f.analysis = func(context.Context, history.Trace) (*history.Explained, time.Duration, error) {
					time.Sleep(wait) // so that notes that came late are given up
					e := &history.Explained{}
					for number := range r.slow.Load() {
						e.Slow = append(e.Slow, seen(number+1, reqtrace.CauseLock))
					}
					return e, 0, nil
				}
				r = begin(t, f, Options{})
				slowRequest(r, "GET /")
				time.Sleep(2 * settle) // the snapshot is under way
				for range noteRoom + 100 {
					slowRequest(r, "GET /")
				}
				close(f.hangs)
				time.Sleep(2 * time.Minute)
				end(t, r)
				c := coverage(r)
				if sum := c.Seen + c.Cut + c.Limited + c.Off + c.Failed; c.Slow != r.slow.Load() || sum != c.Slow ||
					c.Seen == 0 || c.Failed < 100 {
					t.Errorf("%d slow requests: %+v", r.slow.Load(), c)
				}
			})
		})
	}
}

// router is one that sets no http.Request.Pattern, as most do but http.ServeMux.
type router map[string]http.HandlerFunc

func (r router) ServeHTTP(w http.ResponseWriter, q *http.Request) { r[q.URL.Path].ServeHTTP(w, q) }

func slowHandler(http.ResponseWriter, *http.Request) { time.Sleep(300 * time.Millisecond) }

// TestClassesOfAnotherRouter: a slow request is counted under the class that it is explained under.
func TestClassesOfAnotherRouter(t *testing.T) {
	r, err := Start(t.Context(), Options{
		Slow: 100 * time.Millisecond, Every: time.Second, CPU: 1, InProcess: true, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop(context.Background())
	explained := make(chan Explained, 1)
	r.Subscribe(func(e Explained) {
		select {
		case explained <- e:
		default:
		}
	})
	s := httptest.NewServer(r.Middleware(router{"/slow": slowHandler}))
	defer s.Close()
	// an analysis takes a small part of a processor, and the machine may be busy
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	asked := uint64(0)
	for again := true; again; {
		res, err := s.Client().Get(s.URL + "/slow")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		asked++
		select {
		case <-explained:
			again = false
		case <-time.After(time.Second):
		case <-ctx.Done():
			t.Fatalf("nothing is explained: %+v, %v", r.Stats(), coverage(r))
		}
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	var slow, seen uint64
	for class, c := range r.store.Snapshot().CoverageByClass(time.Time{}) {
		slow, seen = slow+c.Slow, seen+c.Seen
		if c.Seen > 0 && (c.Slow != c.Seen+c.Cut || !strings.Contains(class, "slowHandler")) {
			// those that no trace has are of no class
			t.Errorf("class %q: %+v", class, c)
		}
	}
	if slow != asked || seen == 0 {
		t.Errorf("%d slow requests, of which %d are seen, want %d", slow, seen, asked)
	}
}

// TestClock: however the wall clock is set, snapshots are taken when requests were slow and at no
// other time, each is kept, and each slow request is accounted for.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 20 * time.Second
		f, dir := newFake(), t.TempDir()
		f.analysis = func(_ context.Context, j history.Trace) (*history.Explained, time.Duration, error) {
			q := seen(uint64(len(f.jobs)), reqtrace.CauseLock)
			q.Start = j.Taken
			return &history.Explained{Slow: []history.Request{q}}, 0, nil
		}
		r := begin(t, f, Options{Dir: dir, CPU: 1})
		if s := r.Stats(); !s.On || s.Window != 10*time.Second || s.Bytes != leastBytes {
			t.Errorf("at the beginning: %+v", s)
		}
		n := uint64(0)
		slow := func() {
			slowRequest(r, "GET /")
			n++
			time.Sleep(each)
			if s := r.Stats(); s.Snapshots != n || s.Analyzed != n || len(s.Failures) > 0 {
				t.Errorf("after %d slow requests, with the clock set by %v: %+v", n, time.Duration(f.set.Load()), s)
			}
		}
		const year = 365 * 24 * time.Hour
		for _, by := range []time.Duration{
			0, time.Hour, -2 * time.Hour, 10 * year, -10 * year, -50 * year, 50 * year,
			300 * 24 * time.Hour,
		} {
			f.set.Add(int64(by))
			slow()
		}
		for range 5 { // and it stands still
			f.set.Add(-int64(each))
			slow()
		}
		covered := r.Stats()
		if covered.coverage() < .99 || covered.coverage() > 1 {
			t.Errorf("coverage %v", covered.coverage())
		}
		end(t, r)
		if c := coverage(r); c.Slow != n || c.Seen != n {
			t.Errorf("%d slow requests: %+v", n, c)
		}
		if list, err := filepath.Glob(filepath.Join(dir, "snapshots", "*-slow*"+traceSuffix)); err != nil ||
			len(list) != int(n) {
			t.Errorf("%d snapshots of %d are kept, %v", len(list), n, err)
		}
	})
}

// TestClockSetBack: what was taken before the clock was set back goes first, and what is new stays.
func TestClockSetBack(t *testing.T) {
	s := &files{dir: t.TempDir(), most: 3000, mine: func() bool { return true }}
	keep := func(at int64) string {
		t.Helper()
		f, err := s.create(time.Unix(at, 0), "slow")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		s.keep(f)
		return f.id
	}
	var before, after []string
	for i := range int64(3) {
		before = append(before, keep(1e9+i))
	}
	for i := range int64(3) {
		after = append(after, keep(i))
		if !s.has(after[i]) || s.has(before[i]) {
			t.Errorf("%d after the clock was set back: the new one is there: %v, the oldest too: %v", i,
				s.has(after[i]), s.has(before[i]))
		}
	}
	for _, id := range after {
		if !s.has(id) {
			t.Errorf("%s is gone", id)
		}
	}
}

// TestCrowd: what each generation says of 100,000 goroutines that wait counts once, at a
// goroutine's price, and not as what requests record, too.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.parked, f.lists = 100_000, true
		const requests = 1000 // a second
		f.perByte = func() int64 { return int64(time.Since(f.began).Seconds() * requests * requestBytes) }
		r := begin(t, f, Options{CPU: 1})
		for range 30 {
			r.requests.Add(requests)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		s := r.Stats()
		end(t, r)
		if least := int(2 * listed(f.parked)); s.Bytes < least {
			t.Errorf("a window of %v has room for %d bytes, and not for %d of two lists", s.Window, s.Bytes, least)
		}
		events := requests * requestBytes / eventBytes
		want := (time.Duration(events)*f.event + secondCost + time.Duration(f.parked)*goroutineCost).Seconds()
		if got := s.Cost.Tracing.Seconds() / s.Covered.Seconds(); got < .8*want || got > 1.2*want {
			t.Errorf("tracing took %.0f ms a second, not %.0f", 1e3*got, 1e3*want)
		}
	})
}

// TestListed: the runtime's lists have as many bytes a goroutine as the account takes for granted.
func TestListed(t *testing.T) {
	leaks.Test(t)
	const parked = 5000
	stop := make(chan bool)
	defer close(stop)
	var began sync.WaitGroup
	for range parked {
		began.Add(1)
		go func() {
			began.Done()
			<-stop
		}()
	}
	began.Wait()
	p := newRuntime()
	if err := p.start(leastWindow, leastBytes); err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	least := math.Inf(1) // a generation may have more, of goroutines that run in it
	for range 20 {
		var before, c counter
		for _, c := range []*counter{&before, &c} {
			if _, err := p.writeTo(c); err != nil {
				t.Fatal(err)
			}
		}
		if n := c.generations - before.generations; n > 0 {
			if least = min(least, float64(c.n-before.n)/float64(n)/parked); least < 1.3*listedBytes {
				break
			}
		}
	}
	if least < .8*listedBytes || least > 1.3*listedBytes {
		t.Errorf("a list has %.1f bytes a goroutine, not about %v", least, listedBytes)
	}
}

// TestNewTold tests that no cause is logged as new in the first hour. Later a cause is logged once,
// in whatever class, and at most five causes in an hour.
func TestNewTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var function, class string
		var number uint64
		f.analysis = func(context.Context, history.Trace) (*history.Explained, time.Duration, error) {
			number++
			q := seen(number, reqtrace.CauseLock)
			q.Key.Function, q.Key.Class = function, class
			return &history.Explained{Slow: []history.Request{q}}, 0, nil
		}
		var log strings.Builder
		r := begin(t, f, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		fresh := 0
		r.Subscribe(func(e Explained) {
			if e.New {
				fresh++
			}
		})
		slow := func(of, in string, want int) {
			t.Helper()
			function, class = of, in
			slowRequest(r, in)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if fresh != want {
				t.Errorf("%s in %s: %d are new, want %d", of, in, fresh, want)
			}
		}
		slow("main.old", "GET /", 0)
		time.Sleep(30 * time.Minute)
		slow("main.early", "GET /", 0)
		time.Sleep(40 * time.Minute)
		slow("main.old", "GET /", 0)
		slow("main.late", "GET /", 1)
		slow("main.late", "GET /", 1)
		slow("main.late", "GET /other", 1)
		for i := range 20 {
			slow(fmt.Sprint("main.f", i), "GET /", min(2+i, newEach))
		}
		end(t, r)
		if n := strings.Count(log.String(), "new cause"); n != newEach {
			t.Errorf("%d lines of new causes:\n%s", n, log.String())
		}
	})
}

// TestSubscribe: each slow request is published once, and what panics in a subscriber is not the recorder's end.
func TestSubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var all []history.Request
		f.analysis = func(context.Context, history.Trace) (*history.Explained, time.Duration, error) {
			all = append(all, seen(uint64(len(all)+1), reqtrace.CauseLock))
			return &history.Explained{Slow: all}, 0, nil
		}
		r := begin(t, f, Options{TraceID: func(context.Context) string { return "trace" }})
		var published []Explained
		r.Subscribe(func(Explained) { panic("a defect of a subscriber's") })
		cancel := r.Subscribe(func(e Explained) { published = append(published, e) })
		for range 3 {
			slowRequest(r, "GET /")
			time.Sleep(20 * time.Second)
		}
		cancel()
		slowRequest(r, "GET /")
		time.Sleep(20 * time.Second)
		end(t, r)
		if len(published) != 3 || published[0].New || published[2].TraceID != "trace" || published[2].RequestID != "" {
			t.Errorf("%+v", published)
		}
	})
}
