package reqtrace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"sync/atomic"

	"golang.org/x/exp/trace"
)

// ErrBroken is the error of a trace that is cut off or corrupt.
var ErrBroken = errors.New("the trace is cut off or corrupt; take it again, and wait for its end")

// Read hands out the requests of an execution trace in the order of their ends. It stops at the
// first error. A trace without requests ends with a [NoRequestsError]. One that is cut off or corrupt
// ends with [ErrBroken], after the requests of its complete generations, of up to a second each.
//
// Read reads r ahead in another goroutine, unless Options.Yield is set. If you leave the loop
// early, or ctx ends, a call of r.Read may still be under way, and no other begins. You may then
// close r, and must not use it otherwise.
func Read(ctx context.Context, r io.Reader, o Options) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		m, err := newModel(o)
		if err != nil {
			yield(Request{}, err)
			return
		}
		found := false
		flush := func() bool {
			for _, q := range m.turns.done {
				found = true
				if !q.other && !yield(q.out(m), nil) {
					return false
				}
			}
			m.turns.done = m.turns.done[:0]
			return true
		}
		err = m.read(ctx, r, o.Yield, flush)
		switch {
		case errors.Is(err, errStopped):
			return
		case err == nil && !found:
			err = m.sites.noRequests()
		}
		if err != nil {
			yield(Request{}, err)
		}
	}
}

var errStopped = errors.New("stopped")

func (m *model) read(ctx context.Context, r io.Reader, yield func(), flush func() bool) error {
	from := &source{r: r}
	next, stop := batches(ctx, from, yield)
	defer stop()
	var kept []trace.Event // behind a silence that is not judged yet
	for {
		b, err := next()
		if err != nil {
			return err
		}
		rest := b.events
		if len(kept) > 0 {
			kept = append(kept, rest...)
			rest = kept
		}
		for more := true; more && len(rest) > 0; {
			var n int
			var err error
			if n, more, err = m.take(rest, b.err != nil); err != nil {
				return m.broken(from, err, flush)
			}
			if rest = rest[n:]; len(m.turns.done) > 0 && !flush() {
				return errStopped
			}
		}
		kept = append(kept[:0], rest...)
		switch b.err {
		case nil:
			if b.free != nil {
				b.free <- b
			}
		case io.EOF:
			if m.events <= 1 { // the decoder's own
				return fmt.Errorf("reqtrace: the trace is empty; %s", takeOne)
			}
			m.end()
			if !flush() {
				return errStopped
			}
			return nil
		default:
			if m.events == 0 {
				return wrongFile(from, b.err)
			}
			return m.broken(from, b.err, flush)
		}
	}
}

func wrongFile(from *source, err error) error {
	head := from.head[:min(from.n.Load(), int64(len(from.head)))]
	begins := func(prefix string) bool { return strings.HasPrefix(string(head), prefix) }
	text := strings.TrimSpace(string(head))
	what := ""
	switch {
	case from.failed != nil: // a broken connection or gzip
		return fmt.Errorf("reqtrace: %w (nothing of it can be read: %w)", ErrBroken, from.failed)
	case strings.Contains(err.Error(), "unsupported"):
		return fmt.Errorf("reqtrace: %w: a newer Go wrote it: use a newer version of evenkeel.dev", err)
	case begins("go 1.") && strings.Contains(string(head), " trace"):
		return fmt.Errorf("reqtrace: %w (not even its first second is complete)", ErrBroken)
	case len(head) == 0:
		what = "the file is empty"
	case begins("go1.") && strings.Contains(string(head), "heap dump"):
		what = "it is a heap dump"
	case begins("\x1f\x8b"):
		what = "it is compressed by gzip: decompress it first"
	// sample_type of a profile.proto
	case bytes.Contains(head, []byte("\n\x04\x08")):
		what = "it is a profile of pprof"
	case begins("heap profile:"), begins("goroutine profile:"), begins("goroutine "), begins("--- "):
		what = "it is a profile in text form"
	case strings.HasPrefix(text, "<"):
		what = "it is HTML, such as a server's page of an error: look at it in a browser"
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		what = "it is JSON, such as what another tool made of a trace"
	default:
		what = err.Error()
	}
	return fmt.Errorf("reqtrace: not an execution trace of Go: %s; %s", what, takeOne)
}

const takeOne = "take one with runtime/trace, go test -trace, or /debug/pprof/trace?seconds=5"

func (m *model) broken(from *source, err error, flush func() bool) error {
	m.end()
	if !flush() {
		return errStopped
	}
	return &brokenError{m.events, from.n.Load(), err}
}

type brokenError struct {
	events int
	bytes  int64
	err    error
}

func (e *brokenError) Error() string { return fmt.Sprintf("reqtrace: %s: %v", e.where(), ErrBroken) }

func (e *brokenError) Unwrap() []error { return []error{ErrBroken, e.err} }

func (e *brokenError) where() string {
	why, _, _ := strings.Cut(e.err.Error(), "\n")
	return fmt.Sprintf("after %d events, within the first %d bytes: %s", e.events, e.bytes,
		strings.TrimSuffix(why, ":"))
}

// Only the last batch has an error, which may be io.EOF.
type batch struct {
	events []trace.Event
	err    error
	free   chan *batch
}

// With yield it reads in the caller's goroutine.
func batches(ctx context.Context, r *source, yield func()) (next func() (*batch, error), stop func()) {
	if yield == nil {
		ahead, stop := readAhead(ctx, r)
		return func() (*batch, error) {
			select {
			case b := <-ahead:
				return b, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}, stop
	}
	const events = 64
	b, d := &batch{events: make([]trace.Event, 0, events)}, decoder{source: r}
	return func() (*batch, error) {
		yield()
		d.fill(b)
		return b, context.Cause(ctx)
	}, func() {}
}

// readAhead reads in a goroutine. stop waits for it, unless it is in a Read.
func readAhead(ctx context.Context, r *source) (batches <-chan *batch, stop func()) {
	// a generation of the trace comes at once
	const ahead, events = 32, 512
	ctx, cancel := context.WithCancel(ctx)
	full, free, ended := make(chan *batch, ahead), make(chan *batch, ahead), make(chan struct{})
	for range ahead {
		free <- nil
	}
	go func() {
		defer close(ended)
		d := decoder{source: r}
		for {
			var b *batch
			select {
			case b = <-free:
			case <-ctx.Done():
				return
			}
			if b == nil {
				b = &batch{events: make([]trace.Event, 0, events), free: free}
			}
			d.fill(b)
			full <- b
			if b.err != nil {
				return
			}
		}
	}()
	return full, func() {
		cancel()
		if !r.stop() {
			<-ended
		}
	}
}

type decoder struct {
	source *source
	reader *trace.Reader // nil: nothing was read yet
}

// fill returns the panics of the trace reader as errors.
func (d *decoder) fill(b *batch) {
	defer recovered(&b.err)
	b.events = b.events[:0]
	if d.reader == nil {
		if d.reader, b.err = trace.NewReader(d.source); b.err != nil {
			return
		}
	}
	for len(b.events) < cap(b.events) {
		e, err := d.reader.ReadEvent()
		if err != nil {
			b.err = err
			return
		}
		b.events = append(b.events, e)
	}
}

// take stops after a request. more is false if it needs later events to judge a silence.
func (m *model) take(events []trace.Event, last bool) (n int, more bool, err error) {
	defer recovered(&err) // stacks and strings are decoded late
	for n < len(events) && len(m.turns.done) == 0 {
		e := &events[n]
		if t := int64(e.Time()); t-m.now >= quietLeast && m.events > 1 {
			next := events[n:]
			if !last && len(next) < maxWindow && int64(next[len(next)-1].Time()) <= t+quietWindow {
				return n, false, nil
			}
			m.recordStall(next)
		}
		m.event(e)
		n++
	}
	return n, true, nil
}

func (m *model) end() {
	m.kernel.settle(m, math.MaxInt64-silenceSlack)
	m.turns.end(m.goroutines, m.now)
}

func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the reader of x/exp/trace gave up: %v", v)
	}
}

type source struct {
	r     io.Reader
	n     atomic.Int64
	state atomic.Int32 // of the constants below
	head  [32]byte     // written before n

	failed error // other than io.EOF; read after the end
}

const (
	sourceWaits = iota
	sourceReads
	sourceStopped
)

func (s *source) Read(p []byte) (int, error) {
	if !s.state.CompareAndSwap(sourceWaits, sourceReads) {
		return 0, errStopped
	}
	n, err := s.r.Read(p)
	if at := s.n.Load(); at < int64(len(s.head)) {
		copy(s.head[at:], p[:n])
	}
	s.n.Add(int64(n))
	if err != nil && err != io.EOF {
		s.failed = err
	}
	s.state.CompareAndSwap(sourceReads, sourceWaits)
	return n, err
}

func (s *source) stop() (reading bool) { return s.state.Swap(sourceStopped) == sourceReads }
