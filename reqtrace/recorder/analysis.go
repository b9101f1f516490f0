package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// The analysis works and sleeps in turns, so that requests get the processor. A sleep makes the
// scheduler poll the network, which runtime.Gosched does not.
//
//	work  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁ work  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁ work
//	0.2 ms       3.8 ms       0.2 ms       3.8 ms
const (
	yieldAfter  = 200 * time.Microsecond
	restFor     = 19 // times as long as it has worked
	maxAnalyzed = 4 << 20
)

var errPanic = errors.New("it panicked")

type pace struct {
	meter
	began time.Time
	taken time.Duration
	hurry <-chan struct{} // closed: it rests no more
}

func (p *pace) begin() {
	p.began = time.Now()
	p.start()
}

func (p *pace) end() { p.taken += p.stop() }

func (p *pace) yield() {
	worked := time.Since(p.began)
	if worked < yieldAfter {
		return
	}
	p.end()
	defer p.begin()
	select {
	case <-p.hurry:
		runtime.Gosched()
		return
	default:
	}
	// bounded, because the machine may have stood still
	rest := time.NewTimer(restFor * min(worked, 10*yieldAfter))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-p.hurry:
	}
}

// reader yields before each read, because the decoder reads a lot before it returns an event.
type reader struct {
	io.Reader
	yield func()
}

func (r reader) Read(b []byte) (int, error) {
	r.yield()
	return r.Reader.Read(b)
}

// analyze turns a panic into an error.
func analyze(
	ctx context.Context, hurry <-chan struct{}, head *history.Head, trace io.Reader,
) (e *history.Explained, took time.Duration, err error) {
	p := pace{hurry: hurry}
	p.begin()
	defer func() {
		p.end()
		took = p.taken
		if v := recover(); v != nil {
			e, err = nil, fmt.Errorf("%w: %v\n%s", errPanic, v, debug.Stack())
		}
	}()
	r := reader{io.LimitReader(trace, maxAnalyzed), p.yield}
	e, err = head.Explain(ctx, r, reqtrace.Options{Yield: p.yield})
	return e, 0, err
}
