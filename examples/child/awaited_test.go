//go:build unix

package child

import (
	"regexp"
	"testing"
)

// early is where output goes, and notes what was found of it before it came.
type early struct {
	a     *awaited
	found int
}

func (e *early) Write(p []byte) (int, error) {
	e.found += len(e.a.found)
	return len(p), nil
}

// TestAwaitedLineIsInTheOutput: who hears of the line has it, and what was written with it, in the
// output.
func TestAwaitedLineIsInTheOutput(t *testing.T) {
	a := &awaited{match: regexp.MustCompile(`listening at (\S+)`), found: make(chan string, 1)}
	to := &early{a: a}
	a.to = to
	if _, err := a.Write([]byte("recording at x\nlistening at y\n")); err != nil {
		t.Fatal(err)
	}
	if got := <-a.found; got != "y" || to.found > 0 {
		t.Errorf("%q was found before the output had it", got)
	}
}
