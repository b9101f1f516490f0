package recorder

import (
	"context"
	"math"
	"math/bits"
	"net/http"
	"runtime/trace"
	"sync/atomic"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace/internal/mark"
	"evenkeel.dev/reqtrace/region"
)

// A request reads the clock twice, counts and compares. A slow one also sends a note if there is
// room. It takes no lock, cannot fail, and allocates only if it was slow.

const noteRoom = 1024

type note struct {
	history.Noted
	end      time.Time
	duration time.Duration
	slow     bool
	panicked bool
}

// Middleware watches the requests that next serves, and marks them as [region.Middleware] does. The
// class of a request is the pattern of its route.
//
// Put it inside of what puts a trace id into the context. Long requests such as streams and
// WebSockets need a mux without it.
func (r *Recorder) Middleware(next http.Handler) http.Handler {
	return region.Middleware(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		start := time.Now()
		defer func() {
			v := recover()
			r.over(q.Context(), start, q.Header.Get("X-Request-Id"), q.Pattern, panicked(v))
			if v != nil {
				panic(v) // the stack still has who panicked first
			}
		}()
		next.ServeHTTP(w, q)
	}))
}

func panicked(v any) bool { return v != nil && v != http.ErrAbortHandler }

// Request is a request that has begun ([Recorder.Begin]). The zero value does nothing.
type Request struct {
	r       *Recorder
	ctx     context.Context
	id      string
	class   string
	start   time.Time
	request region.Request
}

// Begin marks the start of a request that Middleware does not see, such as a call of gRPC. The
// calling goroutine serves it. class is its kind, of which a program has few. id is for the page,
// or "".
//
//	defer rec.Begin(ctx, info.FullMethod, "").End()
func (r *Recorder) Begin(ctx context.Context, class, id string) Request {
	q := Request{r: r, ctx: ctx, id: id, class: class, request: region.Start(ctx, id)}
	if trace.IsEnabled() {
		mark.LogClass(ctx, class)
	}
	q.start = time.Now()
	return q
}

// End marks the end of the request. If a defer calls it, a panic asks for a snapshot and goes on.
func (q Request) End() {
	v := recover()
	if q.r != nil {
		q.r.over(q.ctx, q.start, q.id, q.class, panicked(v))
		q.request.End()
	}
	if v != nil {
		panic(v)
	}
}

func (r *Recorder) over(ctx context.Context, start time.Time, id, class string, panicked bool) {
	took := time.Since(start)
	r.requests.Add(1)
	if r.times != nil {
		r.times.add(took)
	}
	slow := int64(took) > r.threshold.Load()
	if !slow && !panicked {
		return
	}
	n := note{end: start.Add(took), duration: took, slow: slow, panicked: panicked}
	n.Class = class[:min(len(class), 128)]
	if slow {
		n.Number = r.slow.Add(1)
		if trace.IsEnabled() {
			trace.Log(ctx, mark.ID, history.Mark(id, n.Number))
		}
		n.TraceID = r.traceID(ctx)
	}
	select {
	case r.notes <- n:
	default:
		if slow {
			r.dropped.Add(1)
		}
	}
}

// traceID asks the program. A panic there must not end the request.
func (r *Recorder) traceID(ctx context.Context) (id string) {
	if r.o.TraceID == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			id = ""
		}
	}()
	return r.o.TraceID(ctx)
}

// times counts requests by how long they took, eight steps an octave, for a quantile of the last
// minutes. Any goroutine may add. The rest belongs to the recorder's goroutine.
type times struct {
	now    [buckets]atomic.Uint32
	before [quantileMinutes][buckets]uint32 // of whole minutes, in a ring
	minute int
}

const (
	steps           = 8
	buckets         = 64 * steps
	quantileMinutes = 4 // and the one under way
	leastRequests   = 1000
	leastQuantile   = time.Millisecond
)

func (t *times) add(d time.Duration) { t.now[bucket(d)].Add(1) }

// bucket returns the octave of d, then its three bits after the first.
func bucket(d time.Duration) int {
	n := uint64(max(d, steps))
	octave := bits.Len64(n) - 1
	return octave*steps + int(n>>(octave-3))&(steps-1)
}

func ceiling(i int) time.Duration {
	octave := i / steps
	return time.Duration(uint64(steps+i%steps+1)<<(octave-3)) - 1
}

func (t *times) turn() {
	m := &t.before[t.minute]
	for i := range t.now {
		m[i] = t.now[i].Swap(0)
	}
	t.minute = (t.minute + 1) % quantileMinutes
}

// quantile returns how long the requests below a quantile took at most. With too few requests it is
// the largest duration.
func (t *times) quantile(q float64) time.Duration {
	var counts [buckets]uint64
	var all uint64
	for i := range counts {
		counts[i] = uint64(t.now[i].Load())
		for m := range t.before {
			counts[i] += uint64(t.before[m][i])
		}
		all += counts[i]
	}
	if all < leastRequests {
		return math.MaxInt64
	}
	left := uint64(q * float64(all))
	for i, n := range counts {
		if n > left {
			return max(ceiling(i), leastQuantile)
		}
		left -= n
	}
	return math.MaxInt64
}
