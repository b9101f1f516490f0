package inband

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"
)

func TestParseMillis(t *testing.T) {
	for _, tt := range []struct {
		values []string
		want   time.Duration // 0: ignored
	}{
		{[]string{"1"}, time.Millisecond},
		{[]string{"42"}, 42 * time.Millisecond},
		{[]string{"600000"}, 10 * time.Minute},
		{[]string{"600001"}, 0},
		{[]string{"1000000"}, 0},
		{[]string{"99999999999999999999"}, 0},
		{[]string{"0"}, 0},
		{[]string{"007"}, 0},
		{[]string{""}, 0},
		{[]string{"+5"}, 0},
		{[]string{"-5"}, 0},
		{[]string{" 5"}, 0},
		{[]string{"5 "}, 0},
		{[]string{"5.0"}, 0},
		{[]string{"5ms"}, 0},
		{[]string{"0x5"}, 0},
		{[]string{"٥"}, 0},
		{[]string{"5", "5"}, 0},
		{[]string{"5, 5"}, 0},
		{nil, 0},
	} {
		got, ok := ParseMillis(http.Header{HeaderDrain: tt.values}, HeaderDrain)
		if ok != (tt.want != 0) || ok && got != tt.want {
			t.Errorf("%q: got %v, %v, want %v", tt.values, got, ok, tt.want)
		}
	}
}

func TestFormatMillis(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "1"},
		{0, "1"},
		{1, "1"},
		{time.Millisecond, "1"},
		{time.Millisecond + 1, "2"},
		{time.Second, "1000"},
		{time.Second + 1, "1001"},
		{time.Hour, "600000"},
	} {
		if got := FormatMillis(tt.d); got != tt.want {
			t.Errorf("FormatMillis(%v) = %s, want %s", tt.d, got, tt.want)
		}
	}
}

// FuzzParseMillis holds the parser against the grammar, written as a regular expression.
func FuzzParseMillis(f *testing.F) {
	for _, s := range []string{"1", "600000", "600001", "0", "01", "", "-1", "1 ", "12a", "9999999"} {
		f.Add(s)
	}
	grammar := regexp.MustCompile(`\A[1-9][0-9]{0,5}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		n, _ := strconv.Atoi(s)
		want := grammar.MatchString(s) && n <= 600000
		d, ok := ParseMillis(http.Header{HeaderDrain: {s}}, HeaderDrain)
		if ok != want {
			t.Fatalf("%q: accepted %v, the grammar says %v", s, ok, want)
		}
		if ok && (d != time.Duration(n)*time.Millisecond || FormatMillis(d) != s) {
			t.Fatalf("%q is %v and again %q", s, d, FormatMillis(d))
		}
	})
}
