package history

import (
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// String says in words what a cause is: "waiting for a lock that main.refresh holds, in main.get, in GET /orders".
func (k Key) String() string { return k.Words() + ", in " + verdict.ClassText(k.Class) }

// Words is String without the class.
func (k Key) Words() string {
	if k.Function == Others && k.Class == Others {
		return "other causes: " + verdict.Phrase(k.Cause)
	}
	return verdict.Words(&reqtrace.Blame{Cause: k.Cause, Site: k.Function, Holder: k.Holder})
}

const (
	sentenceCauses = 3
	sentenceShare  = .1 // of a cause that a sentence names beside the first
)

// Sentence says in one sentence what made requests slow since a time: how many there were, and what most of them have in common. Where less than
// half of them are explained it says of how many the shares are.
func (h *History) Sentence(since time.Time) string {
	list, c := h.Summaries(since), h.Coverage(since)
	n := max(c.Slow, c.Seen)
	switch {
	case n == 0:
		return "no request was slow"
	case c.Seen == 0:
		return fmt.Sprintf("%s, and none of them is explained", slowText(n))
	}
	var named []string
	for i, s := range list[:min(len(list), sentenceCauses)] {
		if i > 0 && s.Share < sentenceShare {
			break
		}
		t := textfmt.Share(s.Share) + " " + s.Key.String()
		if s.New {
			t += " (new)"
		}
		named = append(named, t)
	}
	text := slowText(n)
	if 2*c.Seen < n {
		text += fmt.Sprintf("; of the %s seen", textfmt.Count(float64(c.Seen)))
	}
	return text + ": " + strings.Join(named, "; ")
}

func slowText(n uint64) string {
	if n == 1 {
		return "1 request was slow"
	}
	return textfmt.Count(float64(n)) + " requests were slow"
}

// againstText says what a request was compared with.
func againstText(a Against) string {
	switch a {
	case AgainstSnapshot:
		return "the usual request of its class, in the same trace"
	case AgainstHistory:
		return "the usual request of its class in the hours before, as the trace has too few"
	}
	return "nothing, as the usual request of its class is not known, or is slow itself"
}
