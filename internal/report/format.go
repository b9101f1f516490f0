package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// FormatBytes writes a number of bytes in binary units with three digits.
func FormatBytes(b float64) string {
	for _, u := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if math.Abs(b) < 999.5 || u == "TiB" {
			if u == "B" {
				return digits(b) + " B"
			}
			return digits(b) + " " + u
		}
		b /= 1024
	}
	panic("unreachable")
}

// FormatDuration writes a duration with three digits, in the unit that suits it.
func FormatDuration(d time.Duration) string {
	ns := float64(d)
	switch a := math.Abs(ns); {
	case a == 0:
		return "0"
	case a < 999.5:
		return digits(ns) + " ns"
	case a < 999.5e3:
		return digits(ns/1e3) + " µs"
	case a < 999.5e6:
		return digits(ns/1e6) + " ms"
	}
	return digits(ns/1e9) + " s"
}

// FormatCount writes a number with separators between thousands, with decimals where it is small.
func FormatCount(x float64) string {
	if math.Abs(x) < 99.5 && x != math.Trunc(x) {
		return digits(x)
	}
	s := strconv.FormatFloat(math.Abs(math.Round(x)), 'f', 0, 64)
	var b strings.Builder
	if x < 0 {
		b.WriteByte('-')
	}
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// FormatPercent writes percent with one decimal, or more where it is small.
func FormatPercent(p float64) string {
	if p != 0 && math.Abs(p) < .95 {
		return strconv.FormatFloat(p, 'g', 2, 64) + "%"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + "%"
}

// FormatRatio writes a ratio to a base.
func FormatRatio(r float64) string {
	if r >= 99.5 {
		return fmt.Sprintf("%.0fx", r)
	}
	if r >= 9.95 {
		return fmt.Sprintf("%.1fx", r)
	}
	if r > 0 && r < .00995 { // not 0
		return strconv.FormatFloat(r, 'g', 2, 64) + "x"
	}
	return fmt.Sprintf("%.2fx", r)
}

// digits writes three significant digits, and no fewer than the whole part has.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case a >= 99.95 || x == math.Trunc(x):
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case a >= .9995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
