package history

import (
	"time"

	"evenkeel.dev/reqtrace"
)

type newness struct {
	known map[Key]*known // in all classes
	begin time.Time
	last  time.Time
	build string
	older watch // of all other builds
	all   watch
}

func (h *History) newness() (n newness) {
	n.known = map[Key]*known{}
	for k, x := range h.known {
		if n.begin.IsZero() || x.first.Before(n.begin) {
			n.begin = x.first
		}
		n.last = later(n.last, x.last)
		if n.known[k.anyClass()] == nil {
			n.known[k.anyClass()] = &known{}
		}
		n.known[k.anyClass()].add(x)
	}
	if len(h.builds) == 0 {
		return n
	}
	n.build = h.lastBuild()
	for b, w := range h.builds {
		n.begin = earlier(n.begin, w.first)
		n.all = n.all.add(w)
		if b != n.build {
			n.older = n.older.add(w)
		}
	}
	return n
}

// lastBuild returns the build that was first seen last. There is at least one.
func (h *History) lastBuild() string {
	names := h.buildNames()
	return names[len(names)-1]
}

// of reports whether a cause is new, and whether it is new since the last build.
func (n *newness) of(k Key) (isNew, sinceBuild bool) {
	x := n.known[k]
	if x == nil || k.Function == Others || k.Cause == reqtrace.CauseMachine {
		return false, false // Others stands for many causes, and the machine is not the program's
	}
	if len(x.builds) == 1 && x.builds[n.build] && n.older.enough() {
		return true, true
	}
	return n.all.enough() && x.first.Sub(n.begin) >= newLeast && n.last.Sub(x.first) <= newFor, false
}

func (h *History) isNew(k Key) bool {
	n := h.newness()
	isNew, _ := n.of(k)
	return isNew
}
