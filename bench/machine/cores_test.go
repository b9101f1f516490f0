package machine

import (
	"slices"
	"testing"
)

func TestParseCores(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "2-4": {2, 3, 4}, "0-1,7,9-10": {0, 1, 7, 9, 10}} {
		if got, err := parseCores(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"", "x", "1-", "1,,2"} {
		if got, err := parseCores(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
}
