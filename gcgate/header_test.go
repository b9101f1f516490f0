package gcgate

import (
	"net/http"
	"net/netip"
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
		got, ok := parseMillis(http.Header{headerDrain: tt.values}, headerDrain)
		if ok != (tt.want != 0) || ok && got != tt.want {
			t.Errorf("%q: got %v, %v, want %v", tt.values, got, ok, tt.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		d               time.Duration
		millis, seconds string
	}{
		{-time.Second, "1", "1"},
		{0, "1", "1"},
		{1, "1", "1"},
		{time.Millisecond, "1", "1"},
		{time.Millisecond + 1, "2", "1"},
		{time.Second, "1000", "1"},
		{time.Second + 1, "1001", "2"},
		{time.Hour, "600000", "600"},
	} {
		if got := formatMillis(tt.d); got != tt.millis {
			t.Errorf("formatMillis(%v) = %s, want %s", tt.d, got, tt.millis)
		}
		if got := formatSeconds(tt.d); got != tt.seconds {
			t.Errorf("formatSeconds(%v) = %s, want %s", tt.d, got, tt.seconds)
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
		d, ok := parseMillis(http.Header{headerDrain: {s}}, headerDrain)
		if ok != want {
			t.Fatalf("%q: accepted %v, the grammar says %v", s, ok, want)
		}
		if ok && (d != time.Duration(n)*time.Millisecond || formatMillis(d) != s) {
			t.Fatalf("%q is %v and again %q", s, d, formatMillis(d))
		}
	})
}

func TestAllowed(t *testing.T) {
	prefix := func(ss ...string) (p []netip.Prefix) {
		for _, s := range ss {
			p = append(p, netip.MustParsePrefix(s))
		}
		return p
	}
	for _, tt := range []struct {
		addr  string
		allow []netip.Prefix
		want  bool
	}{
		{"127.0.0.1:80", nil, true},
		{"127.9.9.9", nil, true},
		{"[::1]:80", nil, true},
		{"::1", nil, true},
		{"[::ffff:127.0.0.1]:80", nil, true},
		{"10.0.0.1:80", nil, false},
		{"10.0.0.1:80", prefix("10.0.0.0/8"), true},
		{"11.0.0.1:80", prefix("10.0.0.0/8"), false},
		{"[::ffff:10.0.0.1]:80", prefix("10.0.0.0/8"), true},
		{"10.0.0.1:80", prefix("::ffff:10.0.0.0/104"), true},
		{"11.0.0.1:80", prefix("::ffff:10.0.0.0/104"), false},
		{"[fe80::1%eth0]:80", prefix("fe80::/10"), true},
		{"[2001:db8::1]:80", prefix("10.0.0.0/8", "2001:db8::/32"), true},
		{"", prefix("0.0.0.0/0", "::/0"), false},
		{"@", prefix("0.0.0.0/0", "::/0"), false},
		{"localhost:80", prefix("0.0.0.0/0", "::/0"), false},
	} {
		if got := allowed(tt.addr, tt.allow); got != tt.want {
			t.Errorf("allowed(%q, %v) = %v, want %v", tt.addr, tt.allow, got, tt.want)
		}
	}
}
