package compare

import (
	"math"
	"strings"
	"testing"
)

func TestParseChangeLimit(t *testing.T) {
	for _, tt := range []struct {
		in, figure string
		ratio      float64
		less       bool
		err        string
	}{
		{in: "p99.9 > +20%", figure: "p99.9", ratio: 1.2},
		{in: "p99>0%", figure: "p99", ratio: 1},
		{in: "requests/s<-10%", figure: "requests/s", ratio: .9, less: true},
		{in: "slowest 1% > 12.5 %", figure: "slowest 1%", ratio: 1.125},
		{in: "sent > 1 ms late > 50%", figure: "sent > 1 ms late", ratio: 1.5},

		{in: "", err: "neither < nor >"},
		{in: "p99", err: "neither < nor >"},
		{in: "p98 > 1%", err: `no figure "p98"; there are: requests, `},
		{in: " > 1%", err: `no figure ""`},
		{in: "p99 > 20", err: "does not end in %"},
		{in: "p99 > %", err: "is not a change"},
		{in: "p99 > NaN%", err: "is not a change"},
		{in: "p99 > -20%", err: "what rises"},
		{in: "p99 < 20%", err: "what falls"},
		{in: "p99 < -100%", err: "what falls"},
	} {
		l, err := ParseLimit(tt.in)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: %v, want %q", tt.in, err, tt.err)
			}
			continue
		}
		if err != nil || l.Figure != tt.figure || math.Abs(l.Ratio-tt.ratio) > 1e-12 || l.Less != tt.less {
			t.Errorf("%q: %+v, %v", tt.in, l, err)
		}
	}
}
