package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// The file of a store is lines, each with its checksum (CRC-32C, in hexadecimal) and JSON. The
// first is a whole history, those after it are what came since:
//
//	9a3c01e7 {"history":{"version":1,...}}
//	04b1d2f0 {"requests":[...],"counts":[...]}
//	1f00a9c3 {"requests":[...],"us                  <- a write that a kill cut short
//
// Invariant: a line is written by one write(2), and only when all before it are whole. So a kill
// leaves the lines before it, and at most one that is cut short, which has no line feed or a wrong
// checksum. When the file has grown to its limit, a new one is written beside it, synced, and
// renamed over it: a reader, and who opens it after a kill, finds the one or the other.

// record is a line of the file.
type record struct {
	History  *History     `json:"history,omitempty"`
	Requests []Request    `json:"requests,omitempty"`
	Counts   []classCount `json:"counts,omitempty"`
	Usual    []usualAt    `json:"usual,omitempty"`
	Watched  []watchedAt  `json:"watched,omitempty"`
}

type classCount struct {
	At    time.Time `json:"at"`
	Class string    `json:"class,omitempty"`
	Count
}

type usualAt struct {
	At    time.Time `json:"at"`
	Usual Usual     `json:"usual"`
}

type watchedAt struct {
	At      time.Time     `json:"at"`
	Build   string        `json:"build"`
	Passed  time.Duration `json:"passed_ns"`
	Covered time.Duration `json:"covered_ns"`
}

func (r *record) empty() bool { return r.History == nil && r.size() == 0 }

func (r *record) size() int { return len(r.Requests) + len(r.Counts) + len(r.Usual) + len(r.Watched) }

// addRecord adds to a history what was written of it.
func (h *History) addRecord(r *record) {
	if r.History != nil {
		h.merge(r.History)
	}
	for _, q := range r.Requests {
		h.add(q.bounded())
	}
	for _, c := range r.Counts {
		h.Count(c.At, c.Class, c.Count)
	}
	for _, u := range r.Usual {
		h.AddUsual(u.At, u.Usual)
	}
	for _, w := range r.Watched {
		h.Watched(w.Build, w.At, w.Passed, w.Covered)
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line returns a record as a line.
func (r *record) line() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return lineOf(text), nil
}

func lineOf(text []byte) []byte {
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text)
}

// ReadLog reads the file of a [Store], also one whose process was killed: a copy of it, say, from a
// machine that is gone. good is how many bytes of b are whole lines; lost is how many lines are not
// what was written, which are left out. The error is an [ErrVersion], or says that there is not one
// whole line.
func ReadLog(b []byte) (h *History, good, lost int, err error) {
	h = &History{}
	good, lost, err = h.readLog(b)
	return h, good, lost, err
}

func (h *History) readLog(b []byte) (good, lost int, err error) {
	lines := 0
	for len(b) > good {
		line, _, whole := bytes.Cut(b[good:], []byte("\n"))
		if !whole {
			lost++
			break
		}
		text, ok := checked(line)
		var r record
		if ok {
			if err := json.Unmarshal(text, &r); err != nil && errors.Is(err, ErrVersion) {
				return good, lost, err
			} else if err != nil {
				ok = false
			}
		}
		if ok {
			h.addRecord(&r)
			lines++
		} else {
			lost++
		}
		good += len(line) + 1
	}
	if lines == 0 {
		return good, lost, fmt.Errorf("history: no file of a history: of %d bytes not one line is whole", len(b))
	}
	return good, lost, nil
}

// checked returns a line's text, if it is what was written.
func checked(line []byte) (text []byte, ok bool) {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	return text, ok && string(sum) == fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli))
}
