// Command skips says in one list what a run of the checks has left out:
//
//	skips FILE...
//
// A FILE has events of go test -json, or plain lines, each a thing that was skipped and why. Tests that were skipped for
// the same reason are one line.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	s := skips{output: make(map[string]string), tests: make(map[string][]string)}
	for _, name := range os.Args[1:] {
		f, err := os.Open(name)
		if err == nil {
			err = s.read(f)
			f.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "skips:", err)
			os.Exit(1)
		}
	}
	s.print(os.Stdout)
}

// skips are what was left out.
type skips struct {
	output map[string]string   // of each test that runs: the last that it logged
	tests  map[string][]string // by reason: the tests
	plain  []string
}

// event is the part of go test's event that matters here; see go doc test2json.
type event struct{ Action, Package, Test, Output string }

// logged is a line of t.Skip or t.Log.
var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// read adds a file.
func (s *skips) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			continue
		}
		if line[0] != '{' {
			s.plain = append(s.plain, string(line))
			continue
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		s.see(e)
	}
	return lines.Err()
}

// see follows one event.
func (s *skips) see(e event) {
	if e.Test == "" {
		return // a package without tests
	}
	name := strings.TrimPrefix(e.Package, "evenkeel.dev/") + " " + e.Test
	switch e.Action {
	case "output":
		if m := logged.FindStringSubmatch(e.Output); m != nil {
			s.output[name] = m[1]
		}
	case "skip":
		reason := cmp.Or(s.output[name], "no reason given")
		s.tests[reason] = append(s.tests[reason], name)
		delete(s.output, name)
	case "pass", "fail":
		delete(s.output, name)
	}
}

// named is how many tests a line names.
const named = 3

// print writes the list.
func (s *skips) print(w io.Writer) {
	if len(s.tests)+len(s.plain) == 0 {
		fmt.Fprintln(w, "skipped: nothing")
		return
	}
	reasons := make([]string, 0, len(s.tests))
	for r := range s.tests {
		reasons = append(reasons, r)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(s.tests[b]), len(s.tests[a])), cmp.Compare(a, b))
	})
	for _, r := range reasons {
		tests := s.tests[r]
		count, names := "1 test", strings.Join(tests[:min(len(tests), named)], ", ")
		if len(tests) > 1 {
			count = fmt.Sprintf("%d tests", len(tests))
		}
		if len(tests) > named {
			names += ", ..."
		}
		fmt.Fprintf(w, "skipped: %s: %s (%s)\n", count, r, names)
	}
	for _, line := range s.plain {
		fmt.Fprintln(w, "skipped:", line)
	}
}
