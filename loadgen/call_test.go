package loadgen

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev"
)

// Each worker has one call at a time, and the numbers are those of Connections.
func TestCall(t *testing.T) {
	for _, rate := range []float64{0, 5000} {
		var busy [7]atomic.Bool
		var n atomic.Int64
		r := run(t, Options{
			Connections: len(busy), Rate: rate, Requests: 300,
			Call: func(ctx context.Context, worker int) error {
				if !busy[worker].CompareAndSwap(false, true) {
					t.Errorf("worker %d has two calls at once", worker)
				}
				defer busy[worker].Store(false)
				if _, ok := ctx.Deadline(); !ok {
					t.Error("a call without a deadline")
				}
				n.Add(1)
				time.Sleep(time.Millisecond)
				return nil
			},
		})
		if r.Answered != 300 || n.Load() != 300 || r.Failed != 0 || r.Statuses != nil || r.Targets != nil ||
			r.Connects != 0 {
			t.Errorf("rate %v: %d calls; %+v", rate, n.Load(), r)
		}
	}
}

func TestCallFails(t *testing.T) {
	odd := errors.New("odd")
	var n atomic.Int64
	r := run(t, Options{
		Rate: 1000, Requests: 40, Connections: 1, Timeout: time.Millisecond, Drain: patience,
		Call: func(ctx context.Context, _ int) error {
			switch n.Add(1) % 4 {
			case 0:
				return odd
			case 1:
				<-ctx.Done()
				return errors.New("a client's own word for it") // it is a time-out all the same
			case 2:
				return &net.OpError{Op: "read", Err: net.ErrClosed}
			}
			return nil
		},
	})
	// A call that the machine held up for 1 ms has timed out, too.
	if other, closed := class(r, ClassOther), class(r, ClassClosed); class(r, ClassTimeout) < 10 || r.Answered > 10 ||
		other > 10 || closed > 10 || r.Requests() != 40 {
		t.Errorf("answered %d, %+v", r.Answered, r.Failures)
	}
}

// Latency counts from the time due for a call, too: while one stalls, those behind it wait.
func TestCallCountsFromTheTimeDue(t *testing.T) {
	const stall = 300 * time.Millisecond
	var once sync.Once
	r := run(t, Options{Rate: 100, Requests: 60, Connections: 1, Call: func(context.Context, int) error {
		once.Do(func() { time.Sleep(stall) })
		return nil
	}})
	for _, want := range []time.Duration{300, 290, 200, 100, 50} {
		want *= time.Millisecond
		q := 1 - float64(stall-want)/float64(10*time.Millisecond)/60
		if got := r.Latency.Quantile(q); got < want-5*time.Millisecond {
			t.Errorf("quantile %v is %v, want at least %v", q, got, want)
		}
	}
}

func TestCallInterrupted(t *testing.T) {
	for _, rate := range []float64{0, 100} {
		ctx, cancel := context.WithCancel(t.Context())
		r := runContext(t, ctx, Options{Rate: rate, Connections: 2, Call: func(ctx context.Context, _ int) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}})
		if !r.Interrupted || r.Answered+r.Failed != 0 || r.Unfinished == 0 {
			t.Errorf("rate %v: %+v", rate, r)
		}
	}
}

func TestCallStandsAlone(t *testing.T) {
	call := func(context.Context, int) error { return nil }
	for _, o := range []Options{
		{Call: call, Targets: []Target{{URL: "http://h"}}},
		{Call: call, Transport: instant{}},
	} {
		var oe *evenkeel.OptionError
		if err := Check(o); !errors.As(err, &oe) || oe.Option != "Call" {
			t.Error(err)
		}
	}
}

// TestWorkerHasOneCall: at the end of the context workers go, and the number of one that has gone
// is not given to a new one while the last of them is still in its call.
func TestWorkerHasOneCall(t *testing.T) {
	const workers = 3
	var begun [workers]atomic.Int64
	var goOn [workers]chan struct{}
	for i := range goOn {
		goOn[i] = make(chan struct{})
	}
	l := newHandLoop(t, Options{Connections: workers, Rate: 1, Call: func(_ context.Context, worker int) error {
		begun[worker].Add(1)
		<-goOn[worker]
		return nil
	}})
	for range workers {
		l.release()
	}
	l.until("each has begun a call", func() bool { return begun[0].Load()*begun[1].Load()*begun[2].Load() > 0 })
	l.cancel()
	close(goOn[0])
	l.until("one has gone", func() bool { return l.senders < workers })
	l.release() // by the pacer, which has looked at the context just before
	l.until("none has come", func() bool { return l.senders == workers-1 })
	close(goOn[1])
	close(goOn[2])
	l.end()
	if n := begun[workers-1].Load(); n != 1 {
		t.Errorf("the last worker has begun %d calls", n)
	}
}
