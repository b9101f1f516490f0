package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
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

var (
	errPanic = errors.New("it panicked")
	errStart = errors.New("the program could not be started")
)

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

const (
	maxAnswerBytes = 8 << 20
	maxSaidBytes   = 4 << 10
	endDelay       = 2 * time.Second // for pipes that children of the program hold open
)

func analyzeApart(
	ctx context.Context, command []string, h *history.Head, trace io.Reader,
) (e *history.Explained, took time.Duration, err error) {
	head, err := json.Marshal(h)
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = io.MultiReader(bytes.NewReader(append(head, '\n')), trace)
	out, why := &bounded{most: maxAnswerBytes}, &bounded{most: maxSaidBytes, drop: true}
	cmd.Stdout, cmd.Stderr = out, why
	cmd.WaitDelay = endDelay
	if err := cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errStart, err)
	}
	err = cmd.Wait()
	if s := cmd.ProcessState; s != nil {
		took = s.UserTime() + s.SystemTime()
	}
	// A complete answer counts even if Wait failed, because the service may reap its children
	// itself.
	if json.Unmarshal(out.text.Bytes(), &e) == nil && e != nil {
		return e, took, nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, took, fmt.Errorf("it was killed: %w", context.Cause(ctx))
	case out.over:
		return nil, took, fmt.Errorf("its output exceeds %d bytes", maxAnswerBytes)
	case err == nil:
		err = fmt.Errorf("its output of %d bytes is not an answer", out.text.Len())
	}
	if first, _, _ := strings.Cut(why.text.String(), "\n"); first != "" {
		err = fmt.Errorf("%w: %s", err, first)
	}
	return nil, took, err
}

type bounded struct {
	text bytes.Buffer
	most int
	drop bool // what exceeds most, which otherwise ends the program
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := p[:min(len(p), b.most-b.text.Len())]
	b.text.Write(keep)
	b.over = b.over || len(keep) < len(p)
	if b.over && !b.drop {
		return len(keep), fmt.Errorf("more than %d bytes", b.most)
	}
	return len(p), nil
}
