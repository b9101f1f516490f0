package run

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseVariant(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want variant
		err  string
	}{
		{"default:", variant{label: "default"}, ""},
		{" no gc : GOGC=off", variant{label: "no gc", env: []string{"GOGC=off"}}, ""},
		{"x: A=1 _b2=  -c d=e", variant{"x", []string{"A=1", "_b2="}, []string{"-c", "d=e"}}, ""},
		{"x: -a A=1", variant{"x", nil, []string{"-a", "A=1"}}, ""},
		{"x: A='b c' \"d e\" f\\g", variant{"x", []string{"A=b c"}, []string{"d e", "f\\g"}}, ""},
		{"x: 1A=b", variant{"x", nil, []string{"1A=b"}}, ""},
		{"x: =b", variant{"x", nil, []string{"=b"}}, ""},
		{"x: ''", variant{"x", nil, []string{""}}, ""},
		{"x: -url http://h:1/", variant{"x", nil, []string{"-url", "http://h:1/"}}, ""},
		{`x: "-re=\d'$" '\d'$1`, variant{"x", nil, []string{`-re=\d'$`, `\d$1`}}, ""},
		{"x: a\u00a0b", variant{"x", nil, []string{"a\u00a0b"}}, ""},
		{"x: \xff", variant{"x", nil, []string{"\xff"}}, ""},
		{"", variant{}, "no label"},
		{"GOGC=off", variant{}, "no label"},
		{" : GOGC=off", variant{}, "no label"},
		{"x: 'a", variant{}, "a quote is not closed"},
		{`x: "a`, variant{}, "a quote is not closed"},
	} {
		got, err := parseVariant(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), "LABEL:") {
				t.Errorf("%q: %v, want %q and the form in it", tt.in, err, tt.err)
			}
			continue
		}
		if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(variant{}), cmp.Transformer("none", func(s []string) string {
			return strings.Join(s, "\x00|")
		})); err != nil || d != "" {
			t.Errorf("%q: %v %s", tt.in, err, d)
		}
	}
}

// FuzzSplitWords quotes words and splits them again, and splits anything.
func FuzzSplitWords(f *testing.F) {
	f.Add("a b", "it's", `"\`)
	f.Add("", "\x00\xff", "\u00a0")
	f.Add(`\`, "'", "\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		words := []string{a, b, c}
		for _, quote := range []string{`'`, `"`} {
			s := " " + quote + strings.Join(words, quote+"\t "+quote) + quote + "\n"
			got, err := splitWords(s)
			if !strings.Contains(a+b+c, quote) && (err != nil || cmp.Diff(words, got) != "") {
				t.Errorf("%q: %q, %v, want %q", s, got, err, words)
			}
		}
		_, _ = splitWords(a) // must not panic
		_, _ = parseVariant(a + ":" + b)
	})
}
