package gctrace

import (
	"bytes"
	"io"
	"iter"
)

const (
	// bufferBytes is the longest line that is looked at in one piece; of a longer one a
	// piece is dropped whenever the buffer is full.
	bufferBytes = 64 << 10
	// keepBytes of a full buffer are looked at again with what follows. A gctrace line has
	// less than 400 bytes.
	keepBytes = 1 << 10
	// maxEmptyReads in a row end the scan with io.ErrNoProgress.
	maxEmptyReads = 100
)

// Scanner reads the cycles out of a program's standard error.
//
// The runtime writes a gctrace line token by token, so lines of the program itself can
// stand before, in and after it. A Scanner puts such a line together again where its pieces
// can be told from the rest; see Stats for those where they could not. The log has to be of
// one process, or of several one after the other.
//
// It uses one buffer of 64 KiB whatever the input, and allocates neither for a cycle nor for
// other lines. A Scanner is owned by one goroutine.
type Scanner struct {
	src   io.Reader
	buf   []byte
	r, w  int  // buf[r:w] is unread
	long  bool // buf[r:w] continues a line of which a piece was dropped
	mixed bool // that piece held part of a cycle
	eof   bool
	err   error

	ready  [2]Cycle // found and not yet returned; a line can end one and hold another
	nready int
	cur    Cycle

	broken  broken
	hints   hints
	gaveUp  int64 // broken lines given up since the last cycle: the next numbering gap tells of them too
	stats   Stats
	unnamed bool // no cycle yet: a first number above 1 is no gap
}

// NewScanner returns a Scanner that reads from r.
func NewScanner(r io.Reader) *Scanner {
	return &Scanner{src: r, buf: make([]byte, bufferBytes), unnamed: true}
}

// Scan reads up to the next cycle and reports whether there was one; then Cycle returns it.
// It returns as soon as the line's end has been read, so r may be a live pipe. A line with
// other text behind its last token can only be told to be complete by what follows it.
func (s *Scanner) Scan() bool {
	for s.nready == 0 {
		if !s.nextLine() {
			return false
		}
	}
	s.cur = s.ready[0]
	s.ready[0] = s.ready[1]
	s.nready--
	return true
}

// Cycle returns the cycle that Scan found.
func (s *Scanner) Cycle() Cycle { return s.cur }

// Err returns the reader's first error, or nil at its io.EOF.
func (s *Scanner) Err() error { return s.err }

// Stats returns the counts so far.
func (s *Scanner) Stats() Stats {
	st := s.stats
	st.Lost += s.gaveUp
	return st
}

// All returns the cycles that are still to come, for a range loop or [Summarize]; see Err
// afterwards.
func (s *Scanner) All() iter.Seq[Cycle] {
	return func(yield func(Cycle) bool) {
		for s.Scan() && yield(s.cur) {
		}
	}
}

// nextLine takes lines until one gives a cycle; it reports false at the end of the input.
func (s *Scanner) nextLine() bool {
	seen := 0 // bytes of buf[r:w] known to hold no newline
	for {
		if i := bytes.IndexByte(s.buf[s.r+seen:s.w], '\n'); i >= 0 {
			line := s.buf[s.r : s.r+seen+i]
			s.r += seen + i + 1
			seen = 0
			s.endLine(line)
			if s.nready > 0 {
				return true
			}
			continue
		}
		// Before the end of the input is looked at, lest it matter how the reader tells it.
		if s.r == 0 && s.w == len(s.buf) {
			if s.dropPiece(); s.nready > 0 {
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

// fill reads once, after moving what is unread to the front of the buffer.
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

// finish takes the unfinished last line and gives up what is still broken.
func (s *Scanner) finish() bool {
	if s.r < s.w || s.long {
		line := s.buf[s.r:s.w]
		s.r = s.w
		s.lastLine(trimCR(line))
	}
	s.giveUp()
	return s.nready > 0
}
