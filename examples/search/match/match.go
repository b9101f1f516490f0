// Package match decides whether an item of a feed holds a term, in two ways that agree and differ
// in what they allocate. It is the experiment of this example. The copies of [Extra] live for a
// microsecond, but each one brings the next collection nearer.
package match

import (
	"fmt"
	"strings"

	"evenkeel.dev/examples/search/feed"
)

// Func returns the test whether an item holds a term, whatever the case.
type Func func(term string) func(*feed.Item) bool

// Modes are the names that [ByName] knows.
const Modes = "extra, lean"

func ByName(mode string) (Func, error) {
	switch mode {
	case "extra":
		return Extra, nil
	case "lean":
		return Lean, nil
	}
	return nil, fmt.Errorf("unknown mode %q; choose one of %s", mode, Modes)
}

// Extra makes lower-case copies of both texts and the term for each item.
func Extra(term string) func(*feed.Item) bool {
	return func(it *feed.Item) bool {
		return strings.Contains(strings.ToLower(it.Title), strings.ToLower(term)) ||
			strings.Contains(strings.ToLower(it.Text), strings.ToLower(term))
	}
}

// Lean folds the term once, and uses the feed's copies.
func Lean(term string) func(*feed.Item) bool {
	term = strings.ToLower(term)
	return func(it *feed.Item) bool {
		return strings.Contains(it.LowerTitle, term) || strings.Contains(it.LowerText, term)
	}
}
