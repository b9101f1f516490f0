package recorder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev"
)

// TestNeverBlocks: while the flight recorder hangs, a disk or anything else, requests go on, and are counted.
func TestNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.hangs = make(chan bool)
		r := begin(t, f, Options{Slow: time.Millisecond})
		h := r.Middleware(http.HandlerFunc(func(w http.ResponseWriter,
			q *http.Request,
		) {
			time.Sleep(2 * time.Millisecond)
		}))
		time.Sleep(2 * time.Second) // it measures its slice, which hangs
		const requests = 20_000
		start := time.Now()
		for range requests {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		}
		if d := time.Since(start); d != requests*2*time.Millisecond {
			t.Errorf("requests took %v", d)
		}
		if n := r.dropped.Load(); n != requests-noteRoom {
			t.Errorf("%d notes had no room", n)
		}
		close(f.hangs)
		end(t, r)
		if c := coverage(r); c.Slow != requests || c.Failed < requests-noteRoom ||
			c.Failed+c.Limited+c.Off != requests {
			t.Errorf("%+v", c)
		}
	})
}

// TestTransparent: the handler gets the very writer and request, and what it panics with goes on.
func TestTransparent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := begin(t, f, Options{})
		var w http.ResponseWriter = httptest.NewRecorder()
		q := httptest.NewRequest("GET", "/", nil)
		r.Middleware(http.HandlerFunc(func(w2 http.ResponseWriter, q2 *http.Request) {
			if w2 != w || q2 != q {
				t.Error("the handler gets others")
			}
		})).ServeHTTP(w, q)
		for _, v := range []any{errors.New("a defect"), http.ErrAbortHandler} {
			func() {
				defer func() {
					if got := recover(); got != v {
						t.Errorf("panics with %v", got)
					}
				}()
				r.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(v) })).ServeHTTP(w, q)
			}()
			time.Sleep(20 * time.Second)
			func() {
				defer func() {
					if got := recover(); got != v {
						t.Errorf("after Begin: panics with %v", got)
					}
				}()
				defer r.Begin(t.Context(), "consume", "").End()
				panic(v)
			}()
			time.Sleep(20 * time.Second)
		}
		end(t, r)
		if n := r.requests.Load(); n != 5 {
			t.Errorf("%d requests", n)
		}
		if len(f.jobs) != 2 { // of the panics; none of the aborts
			t.Errorf("snapshots: %+v", f.jobs)
		}
	})
}

// TestClass: a slow request is counted by its route, which a mux inside finds.
func TestClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, newFake(), Options{})
		mux := http.NewServeMux()
		mux.HandleFunc("GET /orders/{id}", func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) })
		r.Middleware(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/orders/1", nil))
		q := r.Begin(t.Context(), "consume", "")
		time.Sleep(time.Second)
		q.End()
		Request{}.End()
		end(t, r)
		by := r.store.Snapshot().CoverageByClass(time.Time{})
		if len(by) != 2 || by["GET /orders/{id}"].Slow != 1 || by["consume"].Slow != 1 {
			t.Errorf("%+v", by)
		}
	})
}

// TestTraceIDPanics: a defect of the program's function is no request's.
func TestTraceIDPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t, newFake(), Options{TraceID: func(context.Context) string { panic("a defect") }})
		slowRequest(r, "")
		end(t, r)
	})
}

// TestAllocations: a request that was not slow allocates nothing while no trace is taken.
func TestAllocations(t *testing.T) {
	r := begin(t, newFake(), Options{Slow: time.Minute})
	defer end(t, r)
	h := r.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	w, q := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	if n := testing.AllocsPerRun(100, func() {
		h.ServeHTTP(w, q)
		r.Begin(t.Context(), "consume", "").End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestQuantile: the quantile of a histogram is that of the requests, to an eighth; requests of five
// minutes before do not count.
func TestQuantile(t *testing.T) {
	var h times
	if h.quantile(.99) != math.MaxInt64 {
		t.Error("a quantile of nothing")
	}
	var all []time.Duration
	for i := range 10_000 {
		d := time.Duration(math.Exp(float64(i)/1000+7)) * 100 * time.Nanosecond
		all = append(all, d)
		h.add(d)
	}
	slices.Sort(all)
	for _, q := range []float64{.5, .9, .99, .9999} {
		want := max(all[int(q*float64(len(all)))], leastQuantile)
		if got := h.quantile(q); got < want || got > want+want/8 {
			t.Errorf("%v: %v, not %v", q, got, want)
		}
	}
	for range quantileMinutes {
		h.turn()
		if h.quantile(.5) == math.MaxInt64 {
			t.Error("forgotten within five minutes")
		}
	}
	if h.turn(); h.quantile(.5) != math.MaxInt64 {
		t.Error("not forgotten")
	}
	for _, d := range []time.Duration{0, 1, 8, 1 << 40, math.MaxInt64} {
		if i := bucket(d); ceiling(i) < d || i > 0 && bucket(ceiling(i)) != i {
			t.Errorf("%v is in step %d, which ends at %v", d, i, ceiling(i))
		}
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"Slow": {Slow: time.Microsecond}, "Quantile": {Quantile: math.NaN()}, "Every": {Every: -1},
		"MaxWindow": {MaxWindow: time.Hour},
		"MaxBytes":  {MaxBytes: 1}, "KeepBytes": {KeepBytes: -1}, "CPU": {CPU: 2},
	} {
		r, err := Start(t.Context(), o)
		var wrong *evenkeel.OptionError
		if !errors.As(err, &wrong) || wrong.Option != name {
			t.Errorf("%s: %v", name, err)
		}
		if r != nil {
			end(t, r)
		}
	}
	if got := fmt.Sprint(evenkeel.NewOptionError("recorder.Options", "CPU", "no")); got != "recorder.Options.CPU: no" {
		t.Error(got)
	}
}

// BenchmarkMiddleware is what a request costs that was not slow, while the recorder is off.
func BenchmarkMiddleware(b *testing.B) {
	r := &Recorder{o: Options{Slow: time.Minute}, notes: make(chan note, 1)}
	r.threshold.Store(int64(time.Minute))
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	measuring := &Recorder{times: &times{}, notes: make(chan note, 1)}
	measuring.threshold.Store(int64(time.Minute))
	w, q := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	for _, c := range []struct {
		name string
		h    http.Handler
	}{{"without", next}, {"Slow", r.Middleware(next)}, {"Quantile", measuring.Middleware(next)}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.h.ServeHTTP(w, q)
			}
		})
	}
}
