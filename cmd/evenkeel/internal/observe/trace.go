package observe

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/gclog"
	"evenkeel.dev/gctrace"
)

const (
	passLineBytes = 64 << 10 // longer lines are passed on in pieces
	tailLines     = 12
)

// trace has the collections of a server, from its log or standard error.
type trace struct {
	mu     sync.Mutex // guards all below
	cycles []gctrace.Cycle
	start  time.Time
	stats  gctrace.Stats

	log        string // followed log; "": standard error
	restarts   int    // since mark
	lostBefore int64
}

// Read reads until standard error ends.
func (t *trace) Read(r io.Reader, pass *Passer) {
	t.scan(io.TeeReader(r, pass))
	pass.flush()
}

func (t *trace) scan(r io.Reader) {
	sc := gctrace.NewScanner(r)
	for c := range sc.All() {
		// Lines arrive late, so the earliest of these is nearest.
		start := time.Now().Add(-c.End())
		t.mu.Lock()
		if n := len(t.cycles); n > 0 && gclog.Restarted(t.cycles[n-1], c) {
			t.cycles, t.start = nil, time.Time{}
			t.restarts++
		}
		if t.start.IsZero() || start.Before(t.start) {
			t.start = start
		}
		t.cycles, t.stats = append(t.cycles, c), sc.Stats()
		t.mu.Unlock()
	}
	t.mu.Lock()
	t.stats = sc.Stats()
	t.mu.Unlock()
}

func (t *trace) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.cycles)
}

// Passer passes on standard error without gctrace lines, and keeps its last lines.
type Passer struct {
	W io.Writer

	mu   sync.Mutex // guards all below
	line []byte
	tail []string
}

func (p *Passer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		p.line = append(p.line, b[:i+1]...)
		p.emit()
		b = b[i+1:]
	}
	p.line = append(p.line, b...)
	if len(p.line) > passLineBytes {
		p.emit()
	}
	return n, nil // a failed write must not stop the server
}

func (p *Passer) emit() {
	text := bytes.TrimRight(p.line, "\r\n")
	own := bytes.Equal(text, []byte("GC forced"))
	if !own && bytes.HasPrefix(text, []byte("gc ")) {
		_, err := gctrace.Parse(text)
		own = err == nil
	}
	if !own && len(text) > 0 {
		p.tail = append(p.tail[max(0, len(p.tail)-tailLines+1):], string(text))
	}
	if !own {
		_, _ = p.W.Write(p.line)
	}
	p.line = p.line[:0]
}

func (p *Passer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.line) > 0 && !cutLine.Match(p.line) {
		p.emit()
	}
}

var cutLine = regexp.MustCompile(`^gc \d+ @`)

func (p *Passer) Last() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.tail)
}

// logHistory is how much of an existing log is read.
const logHistory = 1 << 20

// follow reads a growing log. It returns once it has read what exists. stop reads to the end of a file.
func (t *trace) follow(ctx context.Context, name string) (stop func(), err error) {
	t.log = name
	if name == cli.ToStdout {
		t.log = cli.StdinName
		go t.scan(os.Stdin)
		time.Sleep(logRest) // for what exists
		return func() {}, nil
	}
	fi, err := os.Stat(name) // because nothing interrupts the opening of a pipe
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file; name the one that the service's standard error is written to, or "+
			"write -gctrace - and give a pipe as standard input", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	reading, cancel := context.WithCancel(context.Background())
	caughtUp := make(chan struct{})
	in := io.Reader(&tail{reading, f, sync.OnceFunc(func() { close(caughtUp) })})
	if fi.Size() > logHistory {
		_, _ = f.Seek(-logHistory, io.SeekEnd)
		br := bufio.NewReader(in)
		_, _ = br.ReadSlice('\n')
		in = br
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.scan(in)
	}()
	select {
	case <-caughtUp:
	case <-done:
	case <-ctx.Done():
	}
	return func() {
		cancel()
		<-done
		f.Close()
	}, nil
}

// tail reads a growing file until its context ends, and then to the end of the file.
type tail struct {
	ctx   context.Context
	file  io.Reader
	atEnd func() // called at each end so far
}

func (t *tail) Read(b []byte) (int, error) {
	for {
		ended := t.ctx.Err() != nil // before the last read, so that nothing is left out
		n, err := t.file.Read(b)
		if n > 0 || err != io.EOF || ended {
			return n, err
		}
		t.atEnd()
		select {
		case <-t.ctx.Done():
		case <-time.After(logPoll):
		}
	}
}

func (t *trace) mark() (seen int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restarts, t.lostBefore = 0, t.stats.Lost
	return len(t.cycles)
}

// awaitForced waits for a forced collection after the first n.
func (t *trace) awaitForced(ctx context.Context, n int, patience time.Duration) {
	const least = 20 // looks, even if this process is slow
	end := time.Now().Add(patience)
	seen := func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.forcedSince(n) >= 0
	}
	for i := 0; (i < least || time.Now().Before(end)) && ctx.Err() == nil && !seen(); i++ {
		time.Sleep(logPoll)
	}
}

// forcedSince returns the first forced collection from n on, or -1. The caller holds mu.
func (t *trace) forcedSince(n int) int {
	for i := n; i < len(t.cycles); i++ {
		if t.cycles[i].Forced {
			return i
		}
	}
	return -1
}
