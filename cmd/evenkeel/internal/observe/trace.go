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
	tailLines     = 12       // of the server's own stderr, kept for when it dies
)

// trace reads a server's standard error: it keeps the collections and passes the rest on.
type trace struct {
	mu     sync.Mutex // guards all below
	cycles []gctrace.Cycle
	start  time.Time // of the server's runtime, as near as can be told
	stats  gctrace.Stats

	log        string // that is followed, see follow; "" for a server's standard error
	restarts   int    // of the program, since mark: or another one began, as a script starts one after the other
	lostBefore int64  // of stats, before mark
}

// Read reads until the server's standard error ends.
func (t *trace) Read(r io.Reader, pass *Passer) {
	t.scan(io.TeeReader(r, pass))
	pass.flush()
}

// scan keeps the cycles of r, until it ends.
func (t *trace) scan(r io.Reader) {
	sc := gctrace.NewScanner(r)
	for sc.Scan() {
		c := sc.Cycle()
		// A line is printed when its collection has ended, and arrives a little later: the
		// earliest of these is nearest to when the runtime started.
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

// count returns how many collections were read so far.
func (t *trace) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.cycles)
}

// Passer writes a server's standard error on, without the lines that were asked for by us, and
// keeps its end.
type Passer struct {
	W   io.Writer
	All bool // pass the collector's lines too

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
	return n, nil // what cannot be written must not stop the server
}

// emit passes the line on. Called with mu held.
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

// flush passes on what has no line's end. The collector's line is often cut when a server ends.
func (p *Passer) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.line) > 0 && (p.All || !cutLine.Match(p.line)) {
		p.emit()
	}
}

var cutLine = regexp.MustCompile(`^gc \d+ @`)

// Last returns the end of what the server said.
func (p *Passer) Last() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.tail...)
}
