package recorder

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// TestBudget: over an hour, what the recorder takes is within its share, whatever that is, and
// coverage is how long the flight recorder was on for.
func TestBudget(t *testing.T) {
	for name, c := range map[string]struct {
		share    float64
		busy     float64
		perSec   int64 // bytes
		requests uint64
		parked   int
		least    float64 // coverage
		most     float64
	}{
		"cheap":                {.02, 1, 10_000, 100, 100, 1, 1},
		"tiny requests":        {.02, .6, 800_000, 8000, 100, .05, .12},
		"a hundred thousand":   {.02, .5, 100_000, 1000, 100_000, .03, .12},
		"idle":                 {.02, 0, 100, 0, 10, 1, 1},
		"idle, many parked":    {.02, 0, 100, 1, 100_000, .03, .07},
		"all that there is":    {1, .6, 800_000, 8000, 100, 1, 1},
		"few requests, events": {.02, 1, 2_000_000, 1, 100, .03, .08},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.busy, f.parked = c.busy, c.parked
				f.tracing = (float64(c.perSec)/eventBytes*float64(f.event) + float64(secondCost) +
					float64(c.parked)*float64(goroutineCost)) / 1e9
				f.perByte = func() int64 { return int64(time.Since(f.began).Seconds() * float64(c.perSec)) }
				r := begin(t, f, Options{CPU: c.share})
				time.Sleep(333 * time.Millisecond) // requests and ticks at one time would come in any order
				for range 3600 {
					r.requests.Add(c.requests)
					time.Sleep(time.Second)
				}
				synctest.Wait()
				s := r.Stats()
				end(t, r)
				slice := time.Duration((leastWindow + 2*tickEvery).Seconds() *
					float64(s.Cost.Tracing) / s.Covered.Seconds())
				if s.Cost.total() > s.Cost.Budget+s.Cost.Budget/20+slice {
					t.Errorf("it took %v of %v", s.Cost.total(), s.Cost.Budget)
				}
				if got := s.coverage(); got < c.least-.01 || got > c.most {
					t.Errorf("coverage %v, not from %v to %v", got, c.least, c.most)
				}
				if d := s.Covered - f.onFor; d < -2*time.Second || d > 2*time.Second {
					t.Errorf("it says that it was on for %v, and was for %v", s.Covered, f.onFor)
				}
			})
		})
	}
}

// TestMeasured: what a request records counts for those that come later too, also where there were
// none as it was measured.
func TestMeasured(t *testing.T) {
	b := account{event: time.Microsecond, perRequest: requestBytes}
	b.measured(1000, 0, time.Second)
	const bytes = 1000 + 8000*requestBytes
	events := float64(bytes) / eventBytes
	if got, least := b.tracing(8000, 0, time.Second), time.Duration(events)*time.Microsecond; got < least {
		t.Errorf("8,000 requests after an idle second take %v, less than %v", got, least)
	}
	b.measured(8000*50, 8000, time.Second)
	b.measured(1000, 0, time.Second)
	if got, most := b.tracing(8000, 0, time.Second), time.Duration(events*.6)*time.Microsecond; got > most {
		t.Errorf("half as many bytes take %v, more than %v", got, most)
	}
}

// TestCounts: whatever becomes of slow requests, each is counted once as slow and once by what became of it.
func TestCounts(t *testing.T) {
	for name, c := range map[string]struct {
		cause   func(f *fake)
		options Options
		want    func(history.Coverage) bool
	}{
		"seen": {want: func(c history.Coverage) bool { return c.Seen >= 16 && c.Limited > 0 && c.Failed == 0 }},
		"dies": {cause: func(f *fake) {
			f.analysis = func(context.Context, history.Trace) (*history.Explained, time.Duration, error) {
				return nil, 0, errors.New("killed")
			}
		}, want: func(c history.Coverage) bool { return c.Seen == 0 && c.Failed >= 10 }},
		"hangs": {cause: func(f *fake) {
			f.analysis = func(ctx context.Context, _ history.Trace) (*history.Explained, time.Duration, error) {
				<-ctx.Done()
				return nil, 0, ctx.Err()
			}
		}, want: func(c history.Coverage) bool { return c.Seen == 0 && c.Failed >= 2 && c.Limited > 0 }},
		"off": {
			options: Options{CPU: .001}, cause: func(f *fake) { f.parked = 1_000_000 },
			want: func(c history.Coverage) bool { return c.Off > 100 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				o := c.options
				o.Dir = t.TempDir()
				var r *Recorder
				f.analysis = func(_ context.Context, j history.Trace) (*history.Explained, time.Duration, error) {
					e, last := &history.Explained{}, r.slow.Load()
					if last > 2 { // the last one's note may still be under way
						e.Slow = []history.Request{seen(last-2, reqtrace.CauseLock), seen(last-1, reqtrace.CauseLock)}
					}
					return e, 0, nil
				}
				if c.cause != nil {
					c.cause(f)
				}
				r = begin(t, f, o)
				const requests = 1000 // within a slice, as the analysis knows nothing of slices
				for range requests {
					slowRequest(r, "GET /")
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(2 * maxAnalysis)
				end(t, r)
				got := coverage(r)
				if sum := got.Seen + got.Cut + got.Limited + got.Off + got.Failed; got.Slow != requests ||
					sum != requests {
					t.Errorf("%+v: %d are accounted for", got, sum)
				}
				if !c.want(got) {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// TestLateNote: a request that ended while the snapshot was written is in it, though its note comes
// later, and counts once.
func TestLateNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.hangs = make(chan bool)
		f.analysis = func(context.Context, history.Trace) (*history.Explained, time.Duration, error) {
			time.Sleep(time.Second)
			return &history.Explained{Slow: []history.Request{
				seen(1, reqtrace.CauseLock),
				seen(2, reqtrace.CauseLock),
			}}, 0, nil
		}
		r := begin(t, f, Options{TraceID: func(context.Context) string { return "trace" }})
		var published []Explained
		r.Subscribe(func(e Explained) { published = append(published, e) })
		slowRequest(r, "")
		time.Sleep(2 * settle) // the snapshot is under way
		slowRequest(r, "")
		close(f.hangs)
		time.Sleep(time.Minute)
		end(t, r)
		if c := coverage(r); c.Slow != 2 || c.Seen != 2 || c.Limited != 0 {
			t.Errorf("%+v", c)
		}
		if len(published) != 2 || published[1].TraceID != "trace" {
			t.Errorf("%+v", published)
		}
	})
}

// TestLate: where the recorder itself comes late, requests may have waited before their handlers: a
// snapshot shows them.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.analysis = func(context.Context, history.Trace) (*history.Explained, time.Duration, error) {
			q := seen(0, reqtrace.CauseMachine)
			q.Mark = ""
			return &history.Explained{Slow: []history.Request{q}}, 0, nil
		}
		r := begin(t, f, Options{})
		time.Sleep(20 * time.Second)
		f.stall.Store(int64(1500 * time.Millisecond))
		time.Sleep(10 * time.Second)
		end(t, r)
		if c := coverage(r); len(f.jobs) != 1 || c.Slow != 1 || c.Seen != 1 {
			t.Errorf("%d snapshots: %+v", len(f.jobs), c)
		}
	})
}

// TestEvery tests that snapshots are Every apart, however many requests are slow. The recorder
// takes the first right after the request that asks for it. It takes each later one as soon as
// Every allows, so that the window has all slow requests since the one before.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var taken []time.Time
		f.analysis = func(_ context.Context, j history.Trace) (*history.Explained, time.Duration, error) {
			taken = append(taken, j.Taken)
			return &history.Explained{}, 0, nil
		}
		began := time.Now()
		r := begin(t, f, Options{Every: 10 * time.Second})
		for range 100 {
			slowRequest(r, "")
			time.Sleep(3 * time.Second)
		}
		end(t, r)
		if len(taken) < 30 || taken[0].Sub(began) > 2*settle {
			t.Errorf("%d snapshots, the first after %v", len(taken), taken[0].Sub(began))
		}
		for i := range taken[1:] {
			if d := taken[i+1].Sub(taken[i]); (d < 10*time.Second || d > 10*time.Second+3*time.Second+settle) &&
				i+2 < len(taken) {
				// Stop takes the last one
				t.Errorf("%v between two", d)
			}
		}
	})
}

// TestDisk: without a disk snapshots are lost and counted, and come back with it.
func TestDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		dir := filepath.Join(t.TempDir(), "recorder")
		r := begin(t, f, Options{Dir: dir})
		slow := func() Stats {
			slowRequest(r, "")
			time.Sleep(20 * time.Second)
			return r.Stats()
		}
		if s := slow(); s.Analyzed != 1 {
			t.Errorf("%+v", s)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if s := slow(); s.Analyzed != 2 { // it is made again
			t.Errorf("directory gone: %+v", s)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // as root may write where nobody may
			t.Fatal(err)
		}
		if s := slow(); s.Analyzed != 2 || s.Failures[string(failWrite)] != 1 || s.LastFailure == "" {
			t.Errorf("no directory: %+v", s)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if s := slow(); s.Analyzed != 3 {
			t.Errorf("it is back: %+v", s)
		}
		end(t, r)
	})
}

// TestFilesOfAnother: in the folder of another process nothing is kept, and nothing removed.
func TestFilesOfAnother(t *testing.T) {
	dir, mine := t.TempDir(), true
	s := &files{dir: dir, most: 1, mine: func() bool { return mine }}
	keep := func(at time.Time) {
		t.Helper()
		f, err := s.create(at, "slow")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("trace"); err != nil {
			t.Fatal(err)
		}
		s.keep(f)
	}
	keep(time.Unix(1, 0))
	before, _ := s.list()
	mine = false
	keep(time.Unix(2, 0))
	if after, _ := s.list(); len(before) != 1 || len(after) != 1 || after[0].id != before[0].id {
		t.Errorf("%v, then %v", before, after)
	}
	mine = true // the other one has ended
	keep(time.Unix(3, 0))
	if after, _ := s.list(); len(after) != 1 || after[0].id == before[0].id {
		t.Errorf("the oldest does not go: %v", after)
	}
}

// TestKeepBytes: the oldest snapshots go.
func TestKeepBytes(t *testing.T) {
	s := &files{dir: t.TempDir(), most: 3000, mine: func() bool { return true }}
	var ids []string
	for i := range 5 {
		f, err := s.create(time.Unix(int64(i), 0), "slow")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		s.keep(f)
		ids = append(ids, f.id)
	}
	for i, id := range ids {
		if s.has(id) != (i >= 2) {
			t.Errorf("%s is there: %v", id, s.has(id))
		}
	}
	again, err := s.create(time.Unix(4, 0), "slow") // as after the clock was set back
	if err != nil || again.id == ids[4] {
		t.Fatalf("one file for two snapshots: %v", err)
	}
	s.keep(again)
	if !s.has(again.id) {
		t.Errorf("%s is not there", again.id)
	}
	for _, id := range []string{"", "../" + ids[4], "..", ids[4] + "/", "x\x00"} {
		if f, err := s.open(id); err == nil {
			f.Close()
			t.Errorf("%q opens", id)
		}
	}
}

// TestStop tests that Stop takes a snapshot of what is left, that an analysis that hangs does not
// keep the program, and that nothing works afterwards.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.analysis = func(ctx context.Context, _ history.Trace) (*history.Explained, time.Duration, error) {
			<-ctx.Done()
			return nil, 0, ctx.Err()
		}
		r := begin(t, f, Options{})
		slowRequest(r, "")
		start := time.Now()
		end(t, r)
		if d := time.Since(start); d > maxLast || len(f.jobs) != 1 {
			t.Errorf("%d snapshots, in %v", len(f.jobs), d)
		}
		if c := coverage(r); c.Slow != 1 || c.Failed != 1 {
			t.Errorf("%+v", c)
		}
		end(t, r)
		if err := r.Snapshot(t.Context(), io.Discard); !errors.Is(err, errStopped) {
			t.Error(err)
		}
		slowRequest(r, "") // requests go on
		if f.on {
			t.Error("the flight recorder is on")
		}
	})
}

// TestAsked: a snapshot that is asked for is taken, also where the recorder was off; who does not
// wait for it leaves nothing behind.
func TestAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.perByte = func() int64 { return int64(time.Since(f.began).Seconds() * 2e6) }
		r := begin(t, f, Options{})
		for time.Sleep(time.Second); r.Stats().On; {
			time.Sleep(time.Second)
		}
		start := time.Now()
		var out strings.Builder
		if err := r.Snapshot(t.Context(), &out); err != nil || out.Len() < 4e6 || time.Since(start) > 2*leastWindow {
			t.Errorf("%v, %d bytes, after %v", err, out.Len(), time.Since(start))
		}
		for time.Sleep(time.Second); r.Stats().On; {
			time.Sleep(time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Snapshot(ctx, &out); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		end(t, r)
	})
}

// TestTakenAway: where another flight recorder was started while the recorder was off, it says so,
// and goes on when that is over.
func TestTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := begin(t, f, Options{})
		f.refuses.Store(true)
		time.Sleep(2 * sliceMost)
		if s := r.Stats(); s.On || !strings.Contains(s.Why, "FlightRecorder") {
			t.Errorf("%+v", s)
		}
		if err := r.Snapshot(t.Context(), io.Discard); !errors.Is(err, ErrFlightRecorder) {
			t.Error(err)
		}
		f.refuses.Store(false)
		time.Sleep(2 * sliceMost)
		if s := r.Stats(); !s.On || s.Why != "" {
			t.Errorf("%+v", s)
		}
		end(t, r)
		other := newFake()
		other.refuses.Store(true)
		if _, err := Start(t.Context(), Options{process: other}); !errors.Is(err, ErrFlightRecorder) {
			t.Error(err)
		}
	})
}

// TestDefect: what panics in the recorder switches it off, and nothing else, and is logged once.
func TestDefect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var out strings.Builder
		r := begin(t, f, Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		f.defect.Store(true)
		time.Sleep(5 * time.Second)
		slowRequest(r, "")
		if s := r.Stats(); s.On || !strings.Contains(s.Why, "defect") {
			t.Errorf("%+v", s)
		}
		end(t, r)
		if n := strings.Count(out.String(), "a defect; it is off"); n != 1 {
			t.Errorf("it is logged %d times:\n%s", n, out.String())
		}
	})
}

// TestDefectAsked: who asks for a snapshot is answered once, whatever panics.
func TestDefectAsked(t *testing.T) {
	const says = "it is off until the service starts again"
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := begin(t, f, Options{})
		time.Sleep(measureTime + tickEvery/2) // the slice was measured, and is too short for an answer
		f.torn.Store(2)
		first, second := make(chan answer, 1), make(chan answer, 1)
		r.asks <- first
		r.asks <- second
		time.Sleep(5 * time.Second)
		a := <-first
		if a.err != nil {
			t.Fatal(a.err)
		}
		a.file.drop()
		if a := <-second; a.err == nil || !strings.Contains(a.err.Error(), says) {
			t.Errorf("%+v", a)
		}
		if err := r.Snapshot(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), says) {
			t.Error(err)
		}
		end(t, r)
	})
	synctest.Test(t, func(t *testing.T) { // as it is switched on for it
		f := newFake()
		f.perByte = func() int64 { return int64(time.Since(f.began).Seconds() * 2e6) }
		r := begin(t, f, Options{})
		for time.Sleep(time.Second); r.Stats().On; {
			time.Sleep(time.Second)
		}
		f.defect.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.Snapshot(ctx, io.Discard); err == nil || !strings.Contains(err.Error(), says) {
			t.Error(err)
		}
		end(t, r)
	})
}
