package gctrace

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
)

const (
	// longest line; a longer one counts as several
	bufferBytes = 64 << 10
	// of a full buffer, looked at again; more than two gctrace lines
	keepBytes = 1 << 10
)

// Scanner reads cycles from the standard error of a program, also from within other output.
// Processes may follow one another. It uses 64 KiB. One goroutine owns it.
type Scanner struct {
	src *bufio.Scanner
	cut bool // the log ends within a line

	lines  assembler
	within bool // the log ends within a gctrace line, which is not lost if the program still writes it
}

// NewScanner returns a Scanner that reads from r.
func NewScanner(r io.Reader) *Scanner {
	s := &Scanner{src: bufio.NewScanner(r)}
	s.src.Buffer(make([]byte, bufferBytes), bufferBytes)
	s.src.Split(s.split)
	return s
}

// split cuts a line that fills the buffer. The rest of it begins with what may start a gctrace line.
func (s *Scanner) split(b []byte, atEOF bool) (advance int, token []byte, err error) {
	n := bytes.IndexByte(b, '\n')
	switch {
	case n >= 0:
		return n + 1, b[:n], nil
	case len(b) == bufferBytes:
		cut := len(b) - len("gc ") + 1
		if i := findGC(b[len(b)-keepBytes:]); i >= 0 {
			cut = len(b) - keepBytes + i
		}
		return cut, b[:cut], nil
	case atEOF && len(b) > 0:
		s.cut = true
		return len(b), b, nil
	}
	return 0, nil, nil
}

// All returns the remaining cycles. It yields a cycle at the end of its line, so the reader may be
// a live pipe. Check Err afterwards.
func (s *Scanner) All() iter.Seq[Cycle] {
	return func(yield func(Cycle) bool) {
		for s.next() {
			c := s.lines.ready[0]
			s.lines.ready = slices.Delete(s.lines.ready, 0, 1)
			if !yield(c) {
				return
			}
		}
	}
}

// Err returns the reader's first error, or nil at its io.EOF.
func (s *Scanner) Err() error { return s.src.Err() }

// Stats returns the counts so far.
func (s *Scanner) Stats() Stats {
	sum := s.lines.stats
	sum.Lost += s.lines.gaveUp
	return sum
}

// next reads on until there is a cycle.
func (s *Scanner) next() bool {
	for len(s.lines.ready) == 0 && s.src.Scan() {
		before := s.lines.broken
		s.lines.endLine(s.src.Bytes())
		k := &s.lines.broken
		s.within = s.cut && k.next < posForced && (k.next != before.next || k.v != before.v)
	}
	if len(s.lines.ready) == 0 && !s.within {
		s.lines.giveUp()
	}
	return len(s.lines.ready) > 0
}

// Parse reads one gctrace line, with or without its line ending.
func Parse(line []byte) (Cycle, error) {
	line = trimCR(bytes.TrimSuffix(line, []byte("\n")))
	var v values
	p := match(&v, posGC, line, false)
	if !p.complete(line) {
		have := line[p.used:]
		return Cycle{}, fmt.Errorf("gctrace: byte %d: %q is not how a gctrace line goes on; pass one whole line as "+
			"GODEBUG=gctrace=1 prints it, or a Scanner the log as it is", p.used, have[:min(len(have), 24)])
	}
	return v.cycle(), nil
}
