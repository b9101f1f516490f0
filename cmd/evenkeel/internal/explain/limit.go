package explain

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// Limit is a -fail-if. It bounds a cause's share of a band's excess, or with -against the increase
// in percent of the old mean.
type Limit struct {
	text    string
	band    string
	cause   string
	causes  []reqtrace.Cause // nil: all of them
	percent float64
}

type Limits []Limit

const (
	limitForm   = "write it as [BAND:]CAUSE>N%, such as 'gc>30%' or 'p99.9+:lock>50%'"
	serviceForm = "with several services write it as SERVICE>N%, such as 'upstream>30%'"
	changeForm  = "with -against write it as CAUSE>+N%, such as 'lock>+10%' or 'total>+5%'"

	tailBand   = "p99+"
	totalCause = "total"
	bandList   = "p0-50 p50-90 p90-99 p99-99.9 p99.9+ p99+"
)

// ParseLimits reads [BAND:]CAUSE>N%, or with -against CAUSE>+N%. With several services it
// reads SERVICE>N%.
func ParseLimits(texts []string, against bool, services []string) (Limits, error) {
	var list Limits
	for _, text := range texts {
		l, err := parseLimit(text, against, services)
		if err != nil {
			return nil, fmt.Errorf("-fail-if %q: %w", text, err)
		}
		list = append(list, l)
	}
	return list, nil
}

func parseLimit(text string, against bool, services []string) (Limit, error) {
	l := Limit{text: text, band: tailBand}
	form, bands := limitForm, bandList
	switch {
	case against:
		form, bands = changeForm, tailBand
	case services != nil:
		form, bands = serviceForm, tailBand
	}
	what, number, ok := strings.Cut(text, ">")
	digits, percent := strings.CutSuffix(strings.TrimSpace(number), "%")
	switch {
	case !ok:
		return l, fmt.Errorf("no > in it; %s", form)
	case !percent:
		return l, fmt.Errorf("%q does not end in %%; %s", number, form)
	}
	l.cause = strings.TrimSpace(what)
	if band, cause, ok := strings.Cut(what, ":"); ok && services == nil { // a service may be HOST:PORT
		l.band, l.cause = strings.TrimSpace(band), strings.TrimSpace(cause)
	}
	if !against && (strings.HasPrefix(digits, "+") || l.cause == totalCause) {
		return l, errors.New("it is a limit of a difference; name the old version's traces with -against")
	}
	var err error
	l.percent, err = strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || math.IsNaN(l.percent) || l.percent < 0 || l.percent > 1e6 || l.percent >= 100 && !against {
		return l, fmt.Errorf("%q is not a share; write 0%% or more, without -against less than 100%%", number)
	}
	if !slices.Contains(strings.Fields(bands), l.band) {
		return l, fmt.Errorf("no band %q; there are %s", l.band, bands)
	}
	if services != nil {
		if !isService(l.cause, services) {
			return l, fmt.Errorf("no service %q; there are %s, and %s for all but the first", l.cause,
				strings.Join(services, " "), Upstream)
		}
		return l, nil
	}
	if l.causes = causesOf(l.cause); l.causes == nil && (l.cause != totalCause || !against) {
		return l, fmt.Errorf("no cause %q; there are %s, and the groups gc, assists and queue", l.cause,
			strings.Trim(fmt.Sprint(reqtrace.Causes()), "[]"))
	}
	return l, nil
}

func causesOf(name string) []reqtrace.Cause {
	for _, g := range verdict.Groups {
		if g.Name == name {
			return g.Causes
		}
	}
	for _, c := range reqtrace.Causes() {
		if c.String() == name {
			return []reqtrace.Cause{c}
		}
	}
	return nil
}

// Check returns the exceeded limits. Its error names a limit without requests.
func (l Limits) Check(v *verdict.Verdict) (hit []string, err error) {
	for _, x := range l {
		share, err := x.share(v)
		if err != nil {
			return hit, fmt.Errorf("-fail-if %s: %w", x.text, err)
		}
		if share*100 > x.percent {
			hit = append(hit, x.exceeded(share*100))
		}
	}
	return hit, nil
}

func (l *Limit) exceeded(percent float64) string {
	points := fmt.Sprintf("%.1f", percent-l.percent)
	if percent-l.percent < .1 {
		points = "less than 0.1"
	}
	return fmt.Sprintf("-fail-if %s: it is %.1f%%, %s points too much", l.text, percent, points)
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

// CheckChange decides a limit if the whole interval is on one side.
func (l Limits) CheckChange(c *verdict.Change) (lines []string, err error) {
	for _, x := range l {
		d, mean := c.Slow, c.Slow.Old
		if x.causes != nil {
			d = c.Of(x.causes...)
		}
		most := x.percent / 100 * float64(mean)
		what := "kept"
		switch {
		case float64(d.Low) > most:
			what, err = "exceeded", cli.ErrLimit
		case float64(d.High) > most:
			what = "inconclusive"
			if err == nil {
				err = cli.ErrInconclusive
			}
		}
		lines = append(lines, fmt.Sprintf("-fail-if %s: %s: %s [%s, %s] of %s", x.text, what,
			textfmt.SignedDuration(d.More), textfmt.SignedDuration(d.Low),
			textfmt.SignedDuration(d.High), textfmt.Duration(mean)))
	}
	return lines, err
}
