// Package skips says in one list what a run of tests has left out.
package skips

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// List is what was left out. The zero value is an empty one.
type List struct {
	output map[string]string   // of each test that runs: the last that it logged
	tests  map[string][]string // by reason: the tests
	plain  []string
}

// event is the part of go test's event that matters here; see go doc test2json.
type event struct{ Action, Package, Test, Output string }

// logged is a line of t.Skip or t.Log.
var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// Read adds events of go test -json, and plain lines, each a thing that was skipped and why.
func (l *List) Read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			continue
		}
		if line[0] != '{' {
			l.plain = append(l.plain, string(line))
			continue
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		l.see(e)
	}
	return lines.Err()
}

// see follows one event.
func (l *List) see(e event) {
	if e.Test == "" {
		return // a package without tests
	}
	name := strings.TrimPrefix(e.Package, "evenkeel.dev/") + " " + e.Test
	switch e.Action {
	case "output":
		if m := logged.FindStringSubmatch(e.Output); m != nil {
			if l.output == nil {
				l.output = make(map[string]string)
			}
			l.output[name] = m[1]
		}
	case "skip":
		reason := cmp.Or(l.output[name], "no reason given")
		if l.tests == nil {
			l.tests = make(map[string][]string)
		}
		l.tests[reason] = append(l.tests[reason], name)
		delete(l.output, name)
	case "pass", "fail":
		delete(l.output, name)
	}
}

// named is how many tests a line names.
const named = 3

// Print writes the list. Tests that were skipped for the same reason are one line.
func (l *List) Print(w io.Writer) {
	if len(l.tests)+len(l.plain) == 0 {
		fmt.Fprintln(w, "skipped: nothing")
		return
	}
	reasons := make([]string, 0, len(l.tests))
	for r := range l.tests {
		reasons = append(reasons, r)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(l.tests[b]), len(l.tests[a])), cmp.Compare(a, b))
	})
	for _, r := range reasons {
		tests := l.tests[r]
		count, names := "1 test", strings.Join(tests[:min(len(tests), named)], ", ")
		if len(tests) > 1 {
			count = fmt.Sprintf("%d tests", len(tests))
		}
		if len(tests) > named {
			names += ", ..."
		}
		fmt.Fprintf(w, "skipped: %s: %s (%s)\n", count, r, names)
	}
	for _, line := range l.plain {
		fmt.Fprintln(w, "skipped:", line)
	}
}
