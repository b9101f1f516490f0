package explain

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// ChangeLimit is a -fail-if of evenkeel explain -against: how much more a cause may take.
type ChangeLimit struct {
	text    string // as it was given
	all     bool   // of all requests, not of the slowest 1%
	causes  []reqtrace.Cause
	percent float64 // of the old mean
}

type ChangeLimits []ChangeLimit

const (
	causeLimitForm = "beside -against write it as [all:]CAUSE>+N%, such as 'lock>+10%', 'all:total>+5%'"
	totalCause     = "total"
)

// ParseChangeLimit reads [p99+:|all:]CAUSE>+N%.
func ParseChangeLimit(s string) (ChangeLimit, error) {
	l := ChangeLimit{text: s}
	what, number, ok := strings.Cut(s, ">")
	digits, percent := strings.CutSuffix(strings.TrimSpace(number), "%")
	if !ok || !percent {
		return l, errors.New(causeLimitForm)
	}
	var err error
	if l.percent, err = strconv.ParseFloat(digits, 64); err != nil || math.IsNaN(l.percent) || l.percent < 0 ||
		l.percent > 1e6 {
		return l, fmt.Errorf("%q is no share; write 0%% or more", number)
	}
	what = strings.TrimSpace(what)
	if band, cause, ok := strings.Cut(what, ":"); ok {
		if band != tailBand && band != "all" {
			return l, fmt.Errorf("%q is neither %s nor all; %s", band, tailBand, causeLimitForm)
		}
		l.all, what = band == "all", strings.TrimSpace(cause)
	}
	if what == totalCause {
		return l, nil
	}
	if l.causes = causesOf(what); l.causes == nil {
		return l, fmt.Errorf("no cause %q; there are %s, the groups gc, assists and queue, and total", what,
			strings.Join(strings.Fields(CauseHelp), " "))
	}
	return l, nil
}

// Check holds a change against the limits, as judge.Limits.check does: exceeded, and kept, is what
// the whole interval is.
func (l ChangeLimits) Check(c *verdict.Change) (lines []string, err error) {
	for _, x := range l {
		d, mean := x.of(c)
		most := x.percent / 100 * float64(mean)
		what := "kept"
		switch {
		case float64(d.Low) > most:
			what, err = "exceeded", cli.ErrLimit
		case float64(d.High) > most:
			what = "inconclusive"
			if err == nil {
				err = cli.ErrCannotTell
			}
		}
		lines = append(lines, fmt.Sprintf("-fail-if %s: %s: %s [%s, %s] of %s", x.text, what,
			textfmt.SignedDuration(d.More), textfmt.SignedDuration(d.Low),
			textfmt.SignedDuration(d.High), textfmt.Duration(mean)))
	}
	return lines, err
}

// of returns the difference that a limit is of, and the old mean.
func (l *ChangeLimit) of(c *verdict.Change) (verdict.Difference, time.Duration) {
	slow, all := c.Slow, c.All
	if l.causes != nil {
		slow, all = c.Of(l.causes...)
	}
	if l.all {
		return all, c.All.Old
	}
	return slow, c.Slow.Old
}
