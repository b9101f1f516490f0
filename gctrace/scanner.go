package gctrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

var errBadRead = errors.New("gctrace: the io.Reader given to NewScanner returned an impossible count: fix its Read")

const (
	// longest line that is looked at in one piece
	bufferBytes = 64 << 10
	// of a full buffer, looked at again; more than two gctrace lines
	keepBytes     = 1 << 10
	maxEmptyReads = 100
)

// Scanner reads cycles from the standard error of a program, also from within other output.
// Processes may follow one another, or have the prefixes of docker compose or kubectl
// ([Cycle].Source). It uses 64 KiB. One goroutine owns it.
type Scanner struct {
	src  io.Reader
	buf  []byte
	r, w int // buf[r:w] is unread
	eof  bool
	err  error

	lines *assembler   // of the current line's process
	all   []*assembler // the first has no prefix
}

// NewScanner returns a Scanner that reads from r.
func NewScanner(r io.Reader) *Scanner {
	a := &assembler{}
	return &Scanner{src: r, buf: make([]byte, bufferBytes), lines: a, all: []*assembler{a}}
}

// All returns the remaining cycles. It yields a cycle at the end of its line, so the reader may be
// a live pipe. Check Err afterwards.
func (s *Scanner) All() iter.Seq[Cycle] {
	return func(yield func(Cycle) bool) {
		for {
			for s.lines.nready == 0 {
				if !s.nextLine() {
					return
				}
			}
			if !yield(s.lines.next()) {
				return
			}
		}
	}
}

func (s *Scanner) choose(b []byte) []byte {
	if s.lines.long {
		return b
	}
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
func (s *Scanner) Err() error { return s.err }

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

func (s *Scanner) nextLine() bool {
	seen := 0 // bytes of buf[r:w] without a newline
	for {
		if i := bytes.IndexByte(s.buf[s.r+seen:s.w], '\n'); i >= 0 {
			line := s.buf[s.r : s.r+seen+i]
			s.r += seen + i + 1
			seen = 0
			line = s.choose(line)
			s.lines.endLine(line)
			if s.lines.nready > 0 {
				return true
			}
			continue
		}
		// Check this before eof. Readers report the end with the last bytes or after them.
		if s.r == 0 && s.w == len(s.buf) {
			if !s.lines.long {
				s.lines = s.all[0]
			}
			if s.dropPiece(); s.lines.nready > 0 {
				return true
			}
		}
		if s.eof {
			return s.finish()
		}
		seen = s.w - s.r
		s.fill()
	}
}

func (s *Scanner) fill() {
	s.w = copy(s.buf, s.buf[s.r:s.w])
	s.r = 0
	for range maxEmptyReads {
		n, err := s.src.Read(s.buf[s.w:])
		if n < 0 || n > len(s.buf)-s.w {
			n, err = 0, errBadRead
		}
		s.w += n
		if err != nil {
			s.eof = true
			if err != io.EOF {
				s.err = err
			}
			return
		}
		if n > 0 {
			return
		}
	}
	s.eof, s.err = true, io.ErrNoProgress
}

// dropPiece leaves what may start a gctrace line.
func (s *Scanner) dropPiece() {
	cut := len(s.buf) - len("gc ") + 1
	if i := findGC(s.buf[len(s.buf)-keepBytes:]); i >= 0 {
		cut = len(s.buf) - keepBytes + i
	}
	s.lines.endPiece(s.buf[:cut])
	s.r = cut
}

func (s *Scanner) finish() bool {
	if s.r < s.w || s.lines.long {
		line := s.buf[s.r:s.w]
		s.r = s.w
		line = s.choose(line)
		if s.lines.lastLine(trimCR(line)); s.lines.nready > 0 {
			return true
		}
	}
	for _, a := range s.all {
		if a.giveUp(); a.nready > 0 {
			s.lines = a
			return true
		}
	}
	return false
}

// Parse reads one gctrace line, with or without its line ending.
func Parse(line []byte) (Cycle, error) {
	line = trimCR(bytes.TrimSuffix(line, []byte("\n")))
	var v values
	p := match(&v, posGC, line, nil)
	if !p.complete(line) {
		return Cycle{}, syntaxError(p, line)
	}
	return v.cycle(), nil
}

func syntaxError(p progress, line []byte) error {
	at := p.used
	if at < len(line) && isDigit(line[at]) && p.next > posGC && grammar[p.next-1].scale != 0 {
		at = p.last // it is out of range
	}
	have := line[at:]
	return fmt.Errorf("gctrace: byte %d: %q is not how a gctrace line goes on; pass one whole line as "+
		"GODEBUG=gctrace=1 prints it, or a Scanner the log as it is", at, have[:min(len(have), 24)])
}
