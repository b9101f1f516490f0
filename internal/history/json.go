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
		return good, lost, fmt.Errorf("history: not the file of a history: %d bytes without a whole line", len(b))
	}
	return good, lost, nil
}

func checked(line []byte) (text []byte, ok bool) {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	return text, ok && string(sum) == fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli))
}

const jsonVersion = 1

const (
	maxTime      = time.Duration(1) << 56 // two years
	maxNumber    = uint64(1) << 48
	maxJSONHours = 24 * 366 * 10
	maxJSONCells = 1 << 22
)

type jsonHistory struct {
	Version int         `json:"version"`
	Sources []string    `json:"sources,omitempty"`
	Builds  []jsonBuild `json:"builds,omitempty"`
	Hours   []jsonHour  `json:"hours"`
	Known   []jsonKnown `json:"known,omitempty"`
}

type jsonBuild struct {
	Build   string        `json:"build"`
	First   time.Time     `json:"first"`
	Watched time.Duration `json:"watched_ns,omitempty"`
	Covered time.Duration `json:"covered_ns,omitempty"`
}

type jsonHour struct {
	Start   time.Time   `json:"start"`
	Classes []jsonTally `json:"classes,omitempty"`
	Causes  []jsonCell  `json:"causes,omitempty"`
}

type jsonTally struct {
	Class   string        `json:"class,omitempty"`
	Minutes []jsonMinute  `json:"minutes,omitempty"`
	Usual   *usualRequest `json:"usual,omitempty"`
}

type jsonMinute struct {
	Minute uint8 `json:"minute"`
	Coverage
}

type jsonCell struct {
	Key     Key        `json:"key"`
	Minutes []jsonLost `json:"minutes"`
	First   time.Time  `json:"first"`
	Last    time.Time  `json:"last"`
	Worst   *Request   `json:"worst"`
}

type jsonLost struct {
	Minute   uint8         `json:"minute"`
	Requests uint64        `json:"requests"`
	Lost     time.Duration `json:"lost_ns"`
}

type jsonKnown struct {
	Key    Key       `json:"key"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
	Builds []string  `json:"builds"`
}

// MarshalJSON writes h without the ids that it remembers. The same history gives the same text.
func (h *History) MarshalJSON() ([]byte, error) {
	j := jsonHistory{Version: jsonVersion, Sources: slices.Sorted(maps.Keys(h.sources)), Hours: []jsonHour{}}
	for _, b := range h.buildNames() {
		w := h.builds[b]
		j.Builds = append(j.Builds, jsonBuild{b, w.first, w.watched, w.covered})
	}
	for _, at := range h.order() {
		x := h.hours[at]
		hour := jsonHour{Start: time.Unix(at*3600, 0).UTC()}
		for _, class := range slices.Sorted(maps.Keys(x.classes)) {
			hour.Classes = append(hour.Classes, newJSONTally(class, x.classes[class]))
		}
		for _, k := range slices.SortedFunc(maps.Keys(x.cells), compareKeys) {
			hour.Causes = append(hour.Causes, newJSONCell(k, x.cells[k]))
		}
		j.Hours = append(j.Hours, hour)
	}
	for _, k := range slices.SortedFunc(maps.Keys(h.known), compareKeys) {
		x := h.known[k]
		j.Known = append(j.Known, jsonKnown{k, x.first, x.last, slices.Sorted(maps.Keys(x.builds))})
	}
	return json.Marshal(j)
}

func newJSONTally(class string, t *tally) jsonTally {
	j := jsonTally{Class: class}
	for _, m := range t.minutes {
		j.Minutes = append(j.Minutes, jsonMinute{m.minute, m.of})
	}
	if t.usual.Requests > 0 {
		j.Usual = &t.usual
	}
	return j
}

func newJSONCell(k Key, c *cell) jsonCell {
	j := jsonCell{Key: k, First: c.first, Last: c.last, Worst: &c.worst}
	for _, m := range c.minutes {
		j.Minutes = append(j.Minutes, jsonLost{m.minute, m.of.requests, m.of.time})
	}
	return j
}

// UnmarshalJSON replaces h. A later version, or an impossible sum, is an error. An unknown cause,
// from a newer release, reads as [reqtrace.CauseUnknown].
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
	case len(j.Hours) > maxJSONHours:
		return fmt.Errorf("history: %d hours; %d are read at most", len(j.Hours), maxJSONHours)
	}
	read := &History{keepHours: h.keepHours, keepKeys: h.keepKeys}
	cells := len(j.Known)
	for i := range j.Hours {
		if cells += len(j.Hours[i].Causes) + len(j.Hours[i].Classes); cells > maxJSONCells {
			return fmt.Errorf("history: more than %d causes and classes", maxJSONCells)
		}
		if err := read.readHour(&j.Hours[i]); err != nil {
			return fmt.Errorf("history: hour %v: %w", j.Hours[i].Start, err)
		}
	}
	for _, k := range j.Known {
		if err := checkTimes(k.First, k.Last); err != nil {
			return fmt.Errorf("history: %w", err)
		}
		x := known{k.First.UTC(), k.Last.UTC(), map[string]bool{}}
		for _, b := range k.Builds {
			x.builds[shorten(b)] = true
		}
		read.learn(k.Key.bounded(), &x)
	}
	for _, b := range j.Builds {
		if err := checkTimes(b.First, b.First); err != nil {
			return fmt.Errorf("history: build %q: %w", b.Build, err)
		}
		if b.Watched < 0 || b.Watched > maxTime || b.Covered < 0 || b.Covered > maxTime {
			return fmt.Errorf("history: build %q was watched for %d ns and recorded for %d ns", b.Build, b.Watched,
				b.Covered)
		}
		read.addBuild(shorten(b.Build), watch{b.First.UTC(), b.Watched, b.Covered})
	}
	for _, s := range j.Sources {
		read.addSource(shorten(s))
	}
	*h = *read
	return nil
}

func (h *History) readHour(j *jsonHour) error {
	at, minute := hourOf(j.Start)
	if minute != 0 || j.Start.Second() != 0 || j.Start.Nanosecond() != 0 {
		return errors.New("it does not begin with an hour")
	}
	if err := checkTimes(j.Start, j.Start); err != nil {
		return err
	}
	x := newHour()
	for _, c := range j.Classes {
		t := tally{}
		for _, m := range c.Minutes {
			if m.Minute > wholeHour || max(m.Slow, m.Kept, m.Limited, m.Off, m.Failed, m.Seen, m.Cut) > maxNumber {
				return fmt.Errorf("class %q: minute %d has more than there is", c.Class, m.Minute)
			}
			t.minutes.at(m.Minute).add(m.Coverage)
		}
		if u := c.Usual; u != nil {
			if err := u.check(); err != nil {
				return fmt.Errorf("class %q: %w", c.Class, err)
			}
			t.usual = *u
		}
		class := shorten(c.Class)
		if x.classes[class] != nil {
			return fmt.Errorf("class %q is there twice", class)
		}
		x.classes[class] = &t
	}
	for i := range j.Causes {
		c, err := j.Causes[i].cell()
		if err != nil {
			return fmt.Errorf("cause %d: %w", i+1, err)
		}
		entry(x.cells, j.Causes[i].Key.bounded()).merge(c)
	}
	if h.hours[at] != nil {
		return errors.New("it is there twice")
	}
	h.merge(&History{hours: map[int64]*hour{at: x}})
	return nil
}

func (j *jsonCell) cell() (*cell, error) {
	c := &cell{first: j.First.UTC(), last: j.Last.UTC()}
	for _, m := range j.Minutes {
		if m.Minute > wholeHour || m.Requests == 0 || m.Requests > maxNumber || m.Lost < 0 || m.Lost > maxTime {
			return nil, fmt.Errorf("minute %d has %d requests, which lost %d ns", m.Minute, m.Requests, m.Lost)
		}
		c.minutes.at(m.Minute).add(lost{m.Requests, m.Lost})
	}
	if len(c.minutes) == 0 || j.Worst == nil {
		return nil, errors.New("it has no request")
	}
	if err := errors.Join(checkTimes(j.First, j.Last), checkTimes(j.Worst.Start, j.Worst.Start)); err != nil {
		return nil, err
	}
	c.worst = j.Worst.bounded()
	return c, nil
}

func checkTimes(first, last time.Time) error {
	if first.Year() < 1 || last.Year() > 9999 || last.Before(first) {
		return fmt.Errorf("no time from %v to %v", first, last)
	}
	return nil
}
