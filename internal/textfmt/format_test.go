package textfmt

import (
	"math"
	"testing"
	"time"
)

func TestBytes(t *testing.T) {
	for _, tt := range []struct {
		in   float64
		want string
	}{
		{0, "0 B"},
		{1, "1 B"},
		{1.5, "1.50 B"},
		{999, "999 B"},
		{1000, "0.977 KiB"},
		{1024, "1 KiB"},
		{1536, "1.50 KiB"},
		{12.34 * 1024, "12.3 KiB"},
		{123.4 * 1024, "123 KiB"},
		{999.4 * 1024, "999 KiB"},
		{1000 * 1024, "0.977 MiB"},
		{1 << 20, "1 MiB"},
		{3.5 * (1 << 30), "3.50 GiB"},
		{1 << 40, "1 TiB"},
		{1 << 60, "1048576 TiB"},
		{-2048, "-2 KiB"},
	} {
		if got := Bytes(tt.in); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		in   time.Duration
		want string
	}{
		{0, "0"},
		{1, "1 ns"},
		{57, "57 ns"},
		{999, "999 ns"},
		{1000, "1 µs"},
		{1234, "1.23 µs"},
		{3 * time.Microsecond, "3 µs"},
		{12345, "12.3 µs"},
		{123456, "123 µs"},
		{999_400, "999 µs"},
		{999_600, "1.00 ms"},
		{time.Millisecond, "1 ms"},
		{56 * time.Millisecond, "56 ms"},
		{999_400_000, "999 ms"},
		{999_600_000, "1.00 s"},
		{time.Second, "1 s"},
		{90 * time.Second, "90 s"},
		{90500 * time.Millisecond, "90.5 s"},
		{time.Hour, "3600 s"},
		{-1500 * time.Microsecond, "-1.50 ms"},
	} {
		if got := Duration(tt.in); got != tt.want {
			t.Errorf("%d ns: %q, want %q", tt.in, got, tt.want)
		}
	}
	for d := time.Duration(1); d < 1000; d++ { // whole numbers of a unit have no decimals
		for _, u := range []struct {
			d    time.Duration
			name string
		}{{1, " ns"}, {1e3, " µs"}, {1e6, " ms"}, {1e9, " s"}} {
			if got, want := Duration(d*u.d), digits(float64(d))+u.name; got != want {
				t.Fatalf("%d ns: %q, want %q", d*u.d, got, want)
			}
		}
	}
}

func TestFormatNumbers(t *testing.T) {
	for _, tt := range []struct {
		format func(float64) string
		in     float64
		want   string
	}{
		{Count, 0, "0"},
		{Count, 7, "7"},
		{Count, 1.5, "1.50"},
		{Count, 99.4, "99.4"},
		{Count, 99.6, "100"},
		{Count, 999, "999"},
		{Count, 1000, "1,000"},
		{Count, 1234567.8, "1,234,568"},
		{Count, 123456, "123,456"},
		{Count, -1000, "-1,000"},
		{Count, -100, "-100"},
		{Count, .0123456, "0.0123"},
		{Percent, 0, "0.0%"},
		{Percent, .0123, "0.012%"},
		{Percent, .94, "0.94%"},
		{Percent, .96, "1.0%"},
		{Percent, 7.77, "7.8%"},
		{Percent, 100, "100.0%"},
		{Ratio, 0, "0.00x"},
		{Ratio, 1, "1.00x"},
		{Ratio, 9.949, "9.95x"},
		{Ratio, 9.951, "10.0x"},
		{Ratio, 99.4, "99.4x"},
		{Ratio, 99.6, "100x"},
		{Ratio, .333, "0.33x"},
		{Ratio, .0012, "0.0012x"},
	} {
		if got := tt.format(tt.in); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.in, got, tt.want)
		}
	}
	for _, x := range []float64{math.Inf(1), math.NaN(), -math.MaxFloat64} { // no such figure is shown; no panic either
		Bytes(x)
		Count(x)
		Percent(x)
		Ratio(x)
	}
}

func TestVisible(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"plain λ 日本", 99, "plain λ 日本"},
		{"a\x1b[2Jb\n\u202ec", 99, "a\ufffd[2Jb\ufffd\ufffdc"},
		{"12345", 5, "12345"},
		{"123456", 5, "1234…"},
	} {
		if got := Visible(tt.in, tt.most); got != tt.want {
			t.Errorf("visible(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

// FuzzReadEvents: nothing panics, an error names its line, and what was read is read the same
// when it is written again.
