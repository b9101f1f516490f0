package observe

import (
	"bytes"
	"io"
	"regexp"
	"sync"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/gclog"
	"evenkeel.dev/gctrace"
)

const (
	passLineBytes = 64 << 10 // longer lines are passed on in pieces
	tailLines     = 12
)

// trace keeps the collections in a server's standard error, and passes the rest on.
type trace struct {
	mu     sync.Mutex // guards all below
	cycles []gctrace.Cycle
	start  time.Time // of the runtime, about
	stats  gctrace.Stats

	log        string // name of the followed log; "": standard error
	restarts   int    // of the program, since mark
	lostBefore int64  // of stats, before mark
}

// Read reads until standard error ends.
func (t *trace) Read(r io.Reader, pass *Passer) {
	t.scan(io.TeeReader(r, pass))
	pass.flush()
}

func (t *trace) scan(r io.Reader) {
	sc := gctrace.NewScanner(r)
	for sc.Scan() {
		c := sc.Cycle()
		// Lines arrive late, so the earliest of these is nearest to the start of the runtime.
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

// Passer passes a server's standard error on without gctrace lines, and keeps its last lines.
type Passer struct {
	W   io.Writer
	All bool // pass gctrace lines too

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
	if p.All || !own {
		_, _ = p.W.Write(p.line)
	}
	p.line = p.line[:0]
}

func (p *Passer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.line) > 0 && (p.All || !cutLine.Match(p.line)) {
		p.emit()
	}
}

var cutLine = regexp.MustCompile(`^gc \d+ @`)

// Last returns the server's last lines.
func (p *Passer) Last() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.tail...)
}
