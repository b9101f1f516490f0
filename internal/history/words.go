package history

import (
	"fmt"
	"time"
	"unicode/utf8"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

func (k Key) words() string {
	if k.Function == Others && k.Class == Others {
		return "other causes: " + verdict.Phrase(k.Cause)
	}
	return verdict.Words(&reqtrace.Blame{Cause: k.Cause, Site: k.Function, Holder: k.Holder})
}

// String describes a cause: "waiting for a lock that main.refresh holds, in main.get, in GET
// /orders and 2 more".
func (s *Summary) String() string { return s.Key.words() + s.in() }

func (s *Summary) in() string {
	if s.Key.Function == Others && s.Key.Class == Others {
		return ""
	}
	t := ", in " + verdict.ClassText(s.Key.Class)
	if n := len(s.Classes) - 1; n > 0 {
		t += fmt.Sprintf(" and %d more", n)
	}
	return t
}

const (
	sentenceLength = 150 // characters
	sentenceCauses = 3
	sentenceShare  = .1 // least share of a cause that is named after the first
)

// Sentence says in at most 150 characters what made requests slow since a time. It names the
// machine's stalls only if nothing else made requests slow.
func (h *History) Sentence(since time.Time) string {
	list, c := h.Summaries(since), h.Coverage(since)
	n := max(c.Slow, c.Seen)
	text := slowText(n)
	switch {
	case n == 0:
		return "no request was slow"
	case c.Seen == 0 && c.Kept > 0:
		kept := textfmt.Count(float64(c.Kept))
		if c.Kept == n {
			kept = "all"
		}
		return text + "; " + kept + " of them in snapshots that are not analysed"
	case c.Seen == 0, len(list) == 0: // a file may count requests and name no cause
		return text + ", and none of them is explained"
	case list[0].Key.Cause == reqtrace.CauseMachine:
		return text + ", because the machine stood still (as far as explained)"
	}
	if 2*c.Seen < n {
		text += fmt.Sprintf(" (%s explained)", textfmt.Count(float64(c.Seen)))
	}
	for i := range list[:min(len(list), sentenceCauses)] {
		s := &list[i]
		if i > 0 && (s.Share < sentenceShare || s.Key.Cause == reqtrace.CauseMachine) {
			break
		}
		from, mark := ": ", ""
		if i > 0 {
			from = "; "
		}
		if s.New {
			mark = " (new)"
		}
		next := from + textfmt.Share(s.Share) + " " + s.Key.words()
		switch {
		case length(text+next+s.in()+mark) <= sentenceLength:
			text += next + s.in() + mark
		case length(text+next+mark) <= sentenceLength:
			text += next + mark
		case i == 0:
			text += string([]rune(next)[:sentenceLength-length(text)-1]) + "…"
			return text
		default:
			return text
		}
	}
	return text
}

func length(s string) int { return utf8.RuneCountInString(s) }

func slowText(n uint64) string {
	if n == 1 {
		return "1 request was slow"
	}
	return textfmt.Count(float64(n)) + " requests were slow"
}

func againstText(a string) string {
	switch a {
	case againstSnapshot:
		return "the usual request of its class, in the same trace"
	case againstHistory:
		return "the usual request of its class in the hours before, as the trace has too few"
	}
	return "nothing, as the usual request of its class is not known, or is slow itself"
}
