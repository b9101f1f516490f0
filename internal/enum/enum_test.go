package enum

import "testing"

type color int

var colors = Of[color]("paint", "a color", "red", "green", "blue")

func TestNamesAreReadAsTheyAreWritten(t *testing.T) {
	for v := range color(3) {
		text, err := colors.Marshal(v)
		back := v + 1
		if err != nil || string(text) != colors.String(v) || colors.Parse(text, &back) != nil || back != v {
			t.Errorf("%d is written as %q, %v, and read as %d", v, text, err, back)
		}
	}
}

func TestOtherValues(t *testing.T) {
	for v, want := range map[color]string{-1: "color(-1)", 3: "color(3)"} {
		if got := colors.String(v); got != want || colors.Has(v) {
			t.Errorf("%d is %q, want %q", v, got, want)
		}
		if text, err := colors.Marshal(v); err == nil {
			t.Errorf("%d is written as %q", v, text)
		}
	}
	v := color(2)
	err := colors.Parse([]byte("Red"), &v)
	if want := `paint: "Red" is not a color: write red, green or blue`; err == nil || err.Error() != want || v != 2 {
		t.Errorf("got %v and %v, want %s", v, err, want)
	}
}
