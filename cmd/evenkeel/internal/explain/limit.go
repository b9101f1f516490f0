// Package explain has the limits of evenkeel explain, and writes what it found as JSON and as
// pages.
package explain

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// Limit is a -fail-if: how much of a band's excess over the median a cause may be.
type Limit struct {
	text    string // as it was given
	band    string
	cause   string // as it is called
	causes  []reqtrace.Cause
	percent float64
}

// Limits are those of a command.
type Limits []Limit

const (
	limitForm = "write it as [BAND:]CAUSE>N%, such as 'gc>30%' or 'p99.9+:lock>50%'"

	tailBand  = "p99+"
	BandList  = "p0-50 p50-90 p90-99 p99-99.9 p99.9+ p99+"
	CauseHelp = "assist assist-wait sweep stopped runqueue-gc runqueue runqueue-idle lock channel network\n" +
		"  syscall cgo sleep machine stopped-other throttled descheduled running unknown"
	GroupHelp = "gc (assist, assist-wait, sweep, stopped, runqueue-gc), assists (the first two),\n" +
		"  queue (runqueue, runqueue-gc, runqueue-idle)"
)

// ParseLimit reads [BAND:]CAUSE>N%.
func ParseLimit(s string) (Limit, error) {
	l := Limit{text: s, band: tailBand}
	what, number, ok := strings.Cut(s, ">")
	if !ok {
		return l, fmt.Errorf("no > in it; %s", limitForm)
	}
	number = strings.TrimSpace(number)
	digits, ok := strings.CutSuffix(number, "%")
	if !ok {
		return l, fmt.Errorf("%q does not end in %%; %s", number, limitForm)
	}
	var err error
	l.percent, err = strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || math.IsNaN(l.percent) || l.percent < 0 || l.percent >= 100 {
		return l, fmt.Errorf("%q is no share; write 0%% or more, less than 100%%", number)
	}
	if band, cause, ok := strings.Cut(what, ":"); ok {
		l.band, what = strings.TrimSpace(band), cause
		if !slices.Contains(strings.Fields(BandList), l.band) {
			return l, fmt.Errorf("no band %q; there are %s", l.band, BandList)
		}
	}
	l.cause = strings.TrimSpace(what)
	if l.causes = causesOf(l.cause); l.causes == nil {
		return l, fmt.Errorf("no cause %q; there are %s, and the groups gc, assists and queue", l.cause,
			strings.Join(strings.Fields(CauseHelp), " "))
	}
	return l, nil
}

// causesOf returns the causes of a group, or the cause of that name.
func causesOf(name string) []reqtrace.Cause {
	for _, g := range verdict.Groups() {
		if g.Name == name {
			return g.Causes
		}
	}
	c, err := reqtrace.ParseCause(name)
	if err != nil {
		return nil
	}
	return []reqtrace.Cause{c}
}

// Check says which limits are exceeded, and by how much; its error, which of them cannot be known.
func (l Limits) Check(v *verdict.Verdict) (hit []string, err error) {
	for _, x := range l {
		share, err := x.share(v)
		if err != nil {
			return hit, fmt.Errorf("-fail-if %s: %w", x.text, err)
		}
		if over := share*100 - x.percent; over > 0 {
			hit = append(hit, fmt.Sprintf("-fail-if %s: it is %.1f%%, %s points too much", x.text, share*100,
				points(over)))
		}
	}
	return hit, nil
}

func points(x float64) string {
	if x < .1 {
		return "less than 0.1"
	}
	return fmt.Sprintf("%.1f", x)
}

func (l *Limit) share(v *verdict.Verdict) (float64, error) {
	r := v.Report()
	if l.band == tailBand {
		return r.Tail.Share(l.causes...), nil
	}
	for i := range r.Bands {
		if r.Bands[i].Name == l.band {
			return r.Bands[i].Share(l.causes...), nil
		}
	}
	return 0, fmt.Errorf("no request is in that band, of %d; take a longer trace", r.Requests)
}
