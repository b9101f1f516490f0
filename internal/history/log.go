package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// The file of a store is lines, each with its checksum (CRC-32C) and the JSON of a History. The
// first line is everything, and the others are what was added later. Their sum is the history.
//
//	9a3c01e7 {"version":1,"sources":[...],...}
//	04b1d2f0 {"version":1,"hours":[...]}
//	1f00a9c3 {"version":1,"hours":[{"st             <- a write that a kill cut short
//
// Invariant: one write(2) writes a line, and only when all lines before it are whole. So a kill
// damages at most the last line. When the file reaches its limit, the store writes a new one and
// renames it.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (h *History) line() ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return lineOf(text), nil
}

func lineOf(text []byte) []byte {
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text)
}

// ReadLog reads the file of a [Store], also of a process that was killed. good is how many bytes
// of b are whole lines, and lost how many lines are damaged. It returns an error if no line is
// whole, or if a newer release wrote the file.
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
		var part History
		text, ok := checked(line)
		if ok {
			err := json.Unmarshal(text, &part)
			if errors.Is(err, errVersion) {
				return good, lost, err
			}
			ok = err == nil
		}
		if ok {
			h.merge(&part)
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

func checked(line []byte) (text []byte, ok bool) {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	return text, ok && string(sum) == fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli))
}
