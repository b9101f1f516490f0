//go:build cgo && linux

package main

import (
	"fmt"
	"strings"
)

// countTag is what counts leaf calls in the tests. Without it the counters are nothing.
const countTag = "fromcgocount"

// lastTest says what was counted in a package that has a TestMain of its own.
const lastTest = "TestFromCgoCalls"

// counters returns the files that count: an adapter calls fromcgoCount.
func (c *converter) counters(m module) map[string]string {
	var names, sites strings.Builder
	for _, f := range c.declarations.functions {
		site := "nil"
		if f.site != "" && !f.slow {
			site = f.site
		}
		fmt.Fprintf(&names, "\t%q,\n", f.cName)
		fmt.Fprintf(&sites, "\t%s,\n", site)
	}
	on := fmt.Sprintf(`//go:build %s

package %s

import (
	"sync/atomic"

	"evenkeel.dev/fastc"
)

var fromcgoNames = [...]string{
%s}

var fromcgoSites = [...]*fastc.Site{
%s}

var fromcgoCalls [len(fromcgoNames)]atomic.Uint64

func fromcgoCount(i int) { fromcgoCalls[i].Add(1) }

// FromCgoCalls gives the calls of each function, and how many of them a budget sent through cgo.
func FromCgoCalls(say func(name string, calls, diverted uint64)) {
	for i, name := range fromcgoNames {
		diverted := uint64(0)
		if s := fromcgoSites[i]; s != nil {
			diverted = s.Stats().Slow
		}
		if n := fromcgoCalls[i].Load(); n > 0 {
			say(name, n, diverted)
		}
	}
}
`, countTag, m.name, names.String(), sites.String())
	off := fmt.Sprintf("//go:build !%s\n\npackage %s\n\nfunc fromcgoCount(int) {}\n", countTag, m.name)
	return map[string]string{"fromcgo_count.go": on, "fromcgo_nocount.go": off}
}

// counted returns the test file that says what was counted, when all tests of a package have ended.
func (m module) counted(t tests) string {
	from, call := "", "FromCgoCalls"
	if t.folder != m.folder {
		from, call = fmt.Sprintf("\t%s %q\n", m.name, m.importPath()), m.name+".FromCgoCalls"
	}
	begin := "func TestMain(m *testing.M) {\n\tm.Run()"
	if t.main { // the last test, where none are parallel
		begin = "func " + lastTest + "(t *testing.T) {"
	}
	return fmt.Sprintf(`//go:build %s

package %s

import (
	"fmt"
	"testing"

	"evenkeel.dev/fastc"
%s)

%s
	fmt.Println("fromcgo source", fastc.Source())
	%s(func(name string, calls, diverted uint64) { fmt.Println("fromcgo calls", name, calls, diverted) })
}
`, countTag, t.name, from, begin, call)
}

// importPath returns that of the package that calls C.
func (m module) importPath() string {
	if m.folder == "" {
		return m.path
	}
	return m.path + "/" + m.folder
}
