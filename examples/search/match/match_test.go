package match_test

import (
	"fmt"
	"strings"
	"testing"

	"evenkeel.dev/examples/search/feed"
	"evenkeel.dev/examples/search/match"
)

func item(title, text string) *feed.Item {
	return &feed.Item{Title: title, Text: text, LowerTitle: strings.ToLower(title), LowerText: strings.ToLower(text)}
}

func ExampleLean() {
	found := match.Lean("STORM")
	fmt.Println(found(item("A Storm at sea", "")), found(item("Calm", "No wind")))
	// Output: true false
}

func TestModesAgree(t *testing.T) {
	tests := []struct {
		title, text, term string
		want              bool
	}{
		{"A Storm", "", "storm", true},
		{"a storm", "", "STORM", true},
		{"Calm", "before the Storm", "sToRm", true},
		{"Calm", "no wind", "storm", false},
		{"", "", "x", false},
		{"half the term: sto", "rm", "storm", false},
		{"ÉCLAIR", "", "éclair", true},
		{"ȺBC", "", "ⱥbc", true},
		{"K is Kelvin", "", "k is", true}, // U+212A
		{"<b>", "", "<B>", true},
	}
	for _, tt := range tests {
		for _, mode := range []string{"extra", "lean"} {
			found, err := match.ByName(mode)
			if err != nil {
				t.Fatal(err)
			}
			if got := found(tt.term)(item(tt.title, tt.text)); got != tt.want {
				t.Errorf("%s: %q in %q, %q = %v, want %v", mode, tt.term, tt.title, tt.text, got, tt.want)
			}
		}
	}
}

func TestByNameRefuses(t *testing.T) {
	if _, err := match.ByName("medium"); err == nil || !strings.Contains(err.Error(), match.Modes) {
		t.Errorf("error %v does not name the modes", err)
	}
}

func TestLeanAllocatesNothing(t *testing.T) {
	found, it := match.Lean("storm"), item("A Calm Day", "No Storm at all")
	if n := testing.AllocsPerRun(100, func() { found(it) }); n != 0 {
		t.Errorf("%v allocations an item", n)
	}
}

func FuzzModesAgree(f *testing.F) {
	f.Add("A Storm", "over the Lake", "lake")
	f.Add("ȺİK", "\xff", "ⱥ")
	f.Fuzz(func(t *testing.T, title, text, term string) {
		it := item(title, text)
		if extra, lean := match.Extra(term)(it), match.Lean(term)(it); extra != lean {
			t.Errorf("extra %v, lean %v", extra, lean)
		}
	})
}
