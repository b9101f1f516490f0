package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"
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

// ReadLog reads the file of a [Store], also of a process that was killed. It returns how many bytes
// are good, and how many lines are damaged. It fails if no line is whole, or if a newer release
// wrote the file.
func ReadLog(b []byte) (h *History, good, lost int, err error) {
	h = &History{}
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
				return h, good, lost, err
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
		return h, good, lost, fmt.Errorf("history: not the file of a history: %d bytes without a whole line", len(b))
	}
	return h, good, lost, nil
}

func checked(line []byte) (text []byte, ok bool) {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	return text, ok && string(sum) == fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli))
}

const jsonVersion = 1

const (
	maxTime   = time.Duration(1) << 56 // two years
	maxNumber = uint64(1) << 48
)

type jsonHistory struct {
	Version int               `json:"version"`
	Sources []string          `json:"sources,omitempty"`
	Builds  map[string]*watch `json:"builds,omitempty"`
	Hours   []jsonHour        `json:"hours"`
	Known   []jsonKnown       `json:"known,omitempty"`
}

type jsonHour struct {
	Start   time.Time         `json:"start"`
	Classes map[string]*tally `json:"classes,omitempty"`
	Causes  []jsonCell        `json:"causes,omitempty"`
}

type jsonCell struct {
	Key Key `json:"key"`
	cell
}

type jsonKnown struct {
	Key Key `json:"key"`
	known
	Builds []string `json:"builds"`
}

// MarshalJSON writes h without the ids that it remembers. The same history gives the same text.
func (h *History) MarshalJSON() ([]byte, error) {
	j := jsonHistory{
		Version: jsonVersion, Sources: slices.Sorted(maps.Keys(h.sources)), Builds: h.builds, Hours: []jsonHour{},
	}
	for _, at := range h.order() {
		x := h.hours[at]
		hour := jsonHour{Start: time.Unix(at*3600, 0).UTC(), Classes: x.classes}
		for _, k := range slices.SortedFunc(maps.Keys(x.cells), compareKeys) {
			hour.Causes = append(hour.Causes, jsonCell{k, *x.cells[k]})
		}
		j.Hours = append(j.Hours, hour)
	}
	for _, k := range slices.SortedFunc(maps.Keys(h.known), compareKeys) {
		x := h.known[k]
		j.Known = append(j.Known, jsonKnown{k, *x, slices.Sorted(maps.Keys(x.builds))})
	}
	return json.Marshal(j)
}

// UnmarshalJSON replaces h. A later version is an error. Impossible figures become the nearest that
// are possible. An unknown cause, from a newer release, reads as [reqtrace.CauseUnknown].
func (h *History) UnmarshalJSON(b []byte) error {
	var j jsonHistory
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("history: not the JSON of a history: %w", err)
	}
	switch {
	case j.Version > jsonVersion:
		return fmt.Errorf("history: version %d: %w", j.Version, errVersion)
	case j.Version < 1:
		return errors.New(`history: not the JSON of a history: it has no "version"`)
	}
	read := &History{}
	for i := range j.Hours {
		read.addHour(&j.Hours[i])
	}
	for _, k := range j.Known {
		x := known{wallClock(k.First), wallClock(k.Last), map[string]bool{}}
		for _, b := range k.Builds {
			x.builds[shorten(b)] = true
		}
		entry(&read.known, k.Key.bounded()).merge(&x)
	}
	maps.DeleteFunc(j.Builds, func(_ string, w *watch) bool { return w == nil })
	for name, w := range j.Builds {
		w.First = wallClock(w.First)
		entry(&read.builds, shorten(name)).add(*w)
	}
	for _, s := range j.Sources {
		read.addSource(shorten(s))
	}
	*h = *read
	return nil
}

// addHour adds an hour that was read. In JSON any of it may be null.
func (h *History) addHour(j *jsonHour) {
	at, _ := hourOf(j.Start)
	x := entry(&h.hours, at)
	maps.DeleteFunc(j.Classes, func(_ string, t *tally) bool { return t == nil })
	for class, t := range j.Classes {
		maps.DeleteFunc(t.Minutes, func(_ uint8, m *Coverage) bool { return m == nil })
		entry(&x.classes, shorten(class)).merge(t)
	}
	for _, c := range j.Causes {
		maps.DeleteFunc(c.Minutes, func(_ uint8, m *lost) bool { return m == nil })
		c.First, c.Worst = wallClock(c.First), c.Worst.bounded()
		c.Last = later(c.First, wallClock(c.Last))
		entry(&x.cells, c.Key.bounded()).merge(&c.cell)
	}
}
