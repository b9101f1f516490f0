//go:build cgo && linux

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// outcome is what a run of tests said.
type outcome struct {
	tests    map[string]string // pass or skip, by package and test
	calls    map[string]uint64 // leaf calls, by functions
	diverted uint64            // of these, by cgo since they took too long
	source   string            // where fastc goes
}

// test runs the module's tests by cgo and by fastc. The same have to pass.
func (w *work) test(m module, cgo, fast string) error {
	before, err := w.testIn(m, cgo, false)
	if err != nil {
		return fmt.Errorf("by cgo, before anything was changed: %w", err)
	}
	after, err := w.testIn(m, fast, true)
	if err != nil {
		return err
	}
	passed, skipped := 0, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(before.tests)) {
		if before.tests[name] != after.tests[name] {
			return fmt.Errorf("%s: %s by cgo, %q by fastc", name, before.tests[name], after.tests[name])
		}
		if before.tests[name] == "pass" {
			passed++
		} else {
			skipped = append(skipped, name)
		}
	}
	var total uint64
	for _, n := range after.calls {
		total += n
	}
	if total == after.diverted || !strings.Contains(after.source, "asmcgocall") {
		return fmt.Errorf("%w: %d calls, %d of them by cgo; fastc goes through %s", errVacuous, total, after.diverted, after.source)
	}
	fmt.Fprintf(w.out, "  tests passed by cgo and by fastc: %d%s\n", passed, leftOut(m, skipped))
	fmt.Fprintf(w.out, "  leaf calls in them: %d, of %d functions (%s); by cgo, as over their budget: %d\n",
		total-after.diverted, len(after.calls), after.most(), after.diverted)
	return nil
}

// leftOut names the tests that did not run.
func leftOut(m module, skipped []string) string {
	text := ""
	for _, t := range m.tests {
		if t.skip != "" {
			text += "; left out: " + strings.Trim(t.skip, "^()$")
		}
	}
	if len(skipped) > 0 {
		text += "; skipped by themselves: " + strings.Join(skipped, " ")
	}
	return text
}

// most names the functions that were called most.
func (o *outcome) most() string {
	names := slices.SortedFunc(maps.Keys(o.calls), func(a, b string) int {
		return cmp.Or(cmp.Compare(o.calls[b], o.calls[a]), cmp.Compare(a, b))
	})
	var list []string
	for _, n := range names[:min(3, len(names))] {
		list = append(list, fmt.Sprintf("%s %d", n, o.calls[n]))
	}
	return strings.Join(list, ", ")
}

// testIn runs the tests in one copy of the module.
func (w *work) testIn(m module, dir string, count bool) (*outcome, error) {
	o := &outcome{tests: map[string]string{}, calls: map[string]uint64{}}
	for _, t := range m.tests {
		folder := filepath.Join(dir, t.folder)
		args := []string{"go", "test", "-json", "-count=1", "-timeout=300s", "-skip=" + t.skip, "."}
		if count {
			args = slices.Insert(args, 2, "-tags="+countTag)
			if err := os.WriteFile(filepath.Join(folder, "zz_fromcgo_test.go"), []byte(m.counted(t)), 0o644); err != nil {
				return nil, err
			}
		}
		said, err := w.run(folder, args...)
		failed := o.read(t.name, said)
		if err != nil {
			return nil, fmt.Errorf("go test in %s: %w\n%s", folder, err, failed)
		}
	}
	return o, nil
}

// read reads what go test -json wrote, and returns what belongs to the failures.
func (o *outcome) read(in, said string) (failed string) {
	output := map[string]string{}
	for l := range strings.Lines(said) {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal([]byte(l), &e) != nil {
			continue
		}
		name, _, sub := strings.Cut(e.Test, "/")
		switch e.Action {
		case "output", "build-output":
			output[name] += e.Output
			o.line(e.Output)
		case "pass", "skip":
			if name != "" && !sub && name != lastTest {
				o.tests[in+"."+name] = e.Action
			}
		case "fail", "build-fail":
			failed += output[name]
			output[name] = ""
		}
	}
	return failed
}

// line reads what a counting test file prints.
func (o *outcome) line(text string) {
	f := strings.Fields(text)
	switch {
	case len(f) > 2 && f[0] == "fromcgo" && f[1] == "source":
		o.source = strings.Join(f[2:], " ")
	case len(f) == 5 && f[0] == "fromcgo" && f[1] == "calls":
		n, _ := strconv.ParseUint(f[3], 10, 64)
		diverted, _ := strconv.ParseUint(f[4], 10, 64)
		o.calls[f[2]] += n
		o.diverted += diverted
	}
}
