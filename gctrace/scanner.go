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
// Processes may follow one another, or have the prefixes of docker compose or kubectl
// ([Cycle].Source). It uses 64 KiB. One goroutine owns it.
type Scanner struct {
	src *bufio.Scanner
	cut bool // the log ends within the line that src has scanned

	lines *assembler   // of the current line's process
	all   []*assembler // the first has no prefix
}

// NewScanner returns a Scanner that reads from r.
func NewScanner(r io.Reader) *Scanner {
	a := &assembler{}
	s := &Scanner{src: bufio.NewScanner(r), lines: a, all: []*assembler{a}}
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

func (s *Scanner) choose(b []byte) []byte {
	s.lines = s.all[0]
	if len(s.all) > 1 || findGC(b) >= 0 {
		if name, length := sourceOf(b); length > 0 {
			if a := s.source(name, b[length:]); a != nil {
				s.lines, b = a, b[length:]
			}
		}
	}
	return b
}

func (s *Scanner) source(name, rest []byte) *assembler {
	for _, a := range s.all[1:] {
		if a.source == string(name) {
			return a
		}
	}
	if len(s.all) > maxSources || findGC(rest) < 0 {
		return nil
	}
	a := &assembler{source: string(name)}
	s.all = append(s.all, a)
	return a
}

// Err returns the reader's first error, or nil at its io.EOF.
func (s *Scanner) Err() error { return s.src.Err() }

// Stats returns the counts so far.
func (s *Scanner) Stats() Stats {
	var sum Stats
	for _, a := range s.all {
		sum.Lines += a.stats.Lines
		sum.Foreign += a.stats.Foreign
		sum.Cycles += a.stats.Cycles
		sum.Recovered += a.stats.Recovered
		sum.Lost += a.stats.Lost + a.gaveUp
		sum.Truncated = sum.Truncated || a.stats.Truncated
	}
	return sum
}

// next reads on until there is a cycle.
func (s *Scanner) next() bool {
	for len(s.lines.ready) == 0 && s.src.Scan() {
		b := s.choose(s.src.Bytes())
		s.lines.endLine(b, s.cut)
	}
	for i := 0; len(s.lines.ready) == 0 && i < len(s.all); i++ {
		s.lines = s.all[i]
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
