package runfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
)

// Limits of an events file.
const (
	maxEventsBytes = 64 << 20
	maxEventLine   = 64 << 10 // bytes
	maxEventName   = 100      // bytes of a source or a state
)

// Event says that a source enters a state, and stays in it until its next line.
type Event struct {
	Time   time.Time
	Source string
	State  string
	Note   string
}

// Events is an events file. See docs/reference/events.md.
type Events struct {
	Name  string // for messages
	List  []Event
	Notes []string // what was left out, and why
}

// ReadEvents reads a JSON object from each line. Errors say NAME:LINE.
func ReadEvents(r io.Reader, name string) (*Events, error) {
	e := &Events{Name: name}
	in := bufio.NewReaderSize(io.LimitReader(r, maxEventsBytes+1), maxEventLine)
	names := interned{}
	for line, size := 1, 0; ; line++ {
		text, err := in.ReadSlice('\n')
		size += len(text)
		fail := func(format string, a ...any) (*Events, error) {
			return nil, fmt.Errorf("%s:%d: %w", name, line, fmt.Errorf(format, a...))
		}
		last := errors.Is(err, io.EOF)
		switch {
		case size > maxEventsBytes:
			return fail("the file is over %s: keep the lines of the time that was measured",
				textfmt.Bytes(maxEventsBytes))
		case errors.Is(err, bufio.ErrBufferFull):
			return fail("the line is over %s: write one object a line, and short notes", textfmt.Bytes(maxEventLine))
		case err != nil && !last:
			return nil, err
		}
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		switch text = bytes.TrimSpace(text); {
		case len(text) == 0:
		case last && text[0] == '{' && !json.Valid(text):
			e.Notes = append(e.Notes, fmt.Sprintf("%s:%d: the last line is cut off and was left out", name, line))
		default:
			ev, err := parseEvent(text)
			if err != nil {
				return fail("%w", err)
			}
			ev.Source, ev.State = names.intern(ev.Source), names.intern(ev.State)
			e.List = append(e.List, ev)
		}
		if last {
			return e, nil
		}
	}
}

// parseEvent reads one object. It matches names exactly, so other fields such as "T" do no harm.
func parseEvent(text []byte) (Event, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return Event{}, fmt.Errorf(`not one JSON object: write {"t":"2026-11-21T10:00:00.5Z","source":"NAME",`+
			`"state":"WORD"} on a line of its own%s`, because(err))
	}
	var ev Event
	var t string
	for _, f := range []struct {
		name string
		to   *string
		must bool
	}{{"t", &t, true}, {"source", &ev.Source, true}, {"state", &ev.State, true}, {"note", &ev.Note, false}} {
		raw := fields[f.name]
		if raw != nil && json.Unmarshal(raw, f.to) != nil {
			return Event{}, fmt.Errorf("%q must be a string", f.name)
		}
		switch {
		case f.must && strings.TrimSpace(*f.to) == "":
			return Event{}, fmt.Errorf("%q is missing or empty: each line needs t, source and state", f.name)
		case f.must && f.to != &t && len(*f.to) > maxEventName:
			return Event{}, fmt.Errorf("%q is over %d bytes: shorten it, and put what is long into note", f.name,
				maxEventName)
		}
	}
	if err := ev.Time.UnmarshalText([]byte(t)); err != nil {
		return Event{}, fmt.Errorf("t is %.60q: write RFC 3339 with a zone, such as 2026-11-21T10:00:00.5Z", t)
	}
	return ev, nil
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return " (" + err.Error() + ")"
}

// interned keeps one copy of strings that come often.
type interned map[string]string

func (in interned) intern(s string) string {
	if kept, ok := in[s]; ok {
		return kept
	}
	in[s] = s
	return s
}
