// Package textfmt writes figures for people: durations, bytes, counts and shares with a unit, and
// tables for a terminal.
package textfmt

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bytes writes a number of bytes in binary units with three digits.
func Bytes(b float64) string {
	for _, u := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if math.Abs(b) < 999.5 || u == "TiB" {
			return digits(b) + " " + u
		}
		b /= 1024
	}
	panic("unreachable")
}

// Duration writes a duration with three digits, in the unit that suits it.
func Duration(d time.Duration) string {
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

// Count writes a number with separators between thousands, and a small one with decimals.
func Count(x float64) string {
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

// Percent writes percent with one decimal, or more if it is small.
func Percent(p float64) string {
	if p != 0 && math.Abs(p) < .95 {
		return strconv.FormatFloat(p, 'g', 2, 64) + "%"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + "%"
}

// Ratio writes a ratio to a base.
func Ratio(r float64) string {
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

// Share writes a share as percent without decimals.
func Share(share float64) string {
	if share > 0 && share < .005 {
		return "<1%"
	}
	return fmt.Sprintf("%.0f%%", share*100)
}

// Plural writes a number of things, such as "2,000 requests".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(float64(n)) + " " + what + "s"
}

// SignedDuration is Duration of a difference, with its sign.
func SignedDuration(d time.Duration) string {
	if d > 0 {
		return "+" + Duration(d)
	}
	return Duration(d)
}

// Visible makes text from a file safe to show. It escapes what does not print, and cuts the text
// after most runes.
func Visible(s string, most int) string {
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most-1]) + "…"
	}
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// digits writes three significant digits, or all of the whole part.
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
