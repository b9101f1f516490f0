package page

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
)

// maxStates have a name of their own in the legend.
const maxStates = 24

// knownStates are the states of a collection under gcgate. page.css has e0 to e4 for them, and o0
// to o7 for others.
var knownStates = []string{"wanting", "announcing", "draining", "collecting", "readying"}

const otherColors = 8

type pageState struct {
	Name  string `json:"name"`
	Class string `json:"class"` // of its colour
}

type states struct {
	legend []pageState
	by     map[string]int
}

// newStates gives each state a colour. One that gcgate does not have gets it by its name, so most
// pages agree.
func newStates(lanes [][]compare.Lane) *states {
	st := &states{by: map[string]int{}}
	var others []string
	seen := map[string]bool{}
	for _, ls := range lanes {
		for _, l := range ls {
			for _, s := range l.Spans {
				if !seen[s.State] && !slices.Contains(knownStates, s.State) {
					others = append(others, s.State)
				}
				seen[s.State] = true
			}
		}
	}
	add := func(name, class string) {
		st.by[name] = len(st.legend)
		st.legend = append(st.legend, pageState{Name: name, Class: class})
	}
	for i, name := range knownStates {
		if seen[name] {
			add(name, fmt.Sprintf("e%d", i))
		}
	}
	slices.SortFunc(others, cmp.Compare)
	var taken [otherColors]bool
	for i, name := range others {
		if len(st.legend) == maxStates {
			st.legend = append(st.legend, pageState{
				Name:  fmt.Sprintf("one of %d others", len(others)-i),
				Class: "o" + strconv.Itoa(otherColors-1),
			})
			break
		}
		h := fnv.New32a()
		h.Write([]byte(name))
		k := int(h.Sum32() % otherColors)
		for n := 0; taken[k] && n < otherColors; n++ {
			k = (k + 1) % otherColors
		}
		taken[k] = true
		add(name, "o"+strconv.Itoa(k))
	}
	return st
}

func (st *states) index(state string) int {
	if i, ok := st.by[state]; ok {
		return i
	}
	return len(st.legend) - 1
}
