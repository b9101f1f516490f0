//go:build cgo

package fastc

import (
	"errors"
	"testing"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/fastc/internal/leaf"
)

// TestOptions: what makes no sense is refused with the option's name, and the rest gets its
// defaults.
func TestOptions(t *testing.T) {
	for name, tt := range map[string]struct {
		opts Options
		want string
	}{
		"zero":     {Options{}, ""},
		"off":      {Options{DisableBudget: true}, ""},
		"for ever": {Options{Hold: HoldForever}, ""},
		"longest":  {Options{Budget: time.Hour, Hold: maxHold}, ""},
		"negative budget": {
			Options{Budget: -1},
			"fastc.Options.Budget: -1ns is negative; write 0 for 200µs, or set DisableBudget",
		},
		"negative hold": {
			Options{Hold: -time.Second},
			"fastc.Options.Hold: -1s is negative; write 0 for 10s, or fastc.HoldForever",
		},
		"long hold": {
			Options{Hold: 25 * time.Hour},
			"fastc.Options.Hold: 25h0m0s is longer than 24h0m0s; write less, or fastc.HoldForever",
		},
		"budget and none": {
			Options{Budget: 1, DisableBudget: true},
			"fastc.Options.Budget: 1ns, and DisableBudget is set; leave one of them out",
		},
		"hold of none": {
			Options{Hold: 1, DisableBudget: true},
			"fastc.Options.Hold: 1ns, and DisableBudget is set, with which no call is diverted; leave one of them out",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSite(leaf.Nop, "nop", tt.opts)
			if tt.want == "" {
				if err != nil || s == nil || s.opts.Budget <= 0 || s.opts.Hold <= 0 {
					t.Errorf("%+v, %v", s, err)
				}
				return
			}
			var wrong *evenkeel.OptionError
			if s != nil || !errors.As(err, &wrong) || err.Error() != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
			defer func() {
				if p, _ := recover().(error); p == nil || p.Error() != tt.want {
					t.Errorf("MustSite panics with %v", p)
				}
			}()
			MustSite(leaf.Nop, "nop", tt.opts)
			t.Error("MustSite does not panic")
		})
	}
}
