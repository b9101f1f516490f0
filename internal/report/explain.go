package report

import (
	"encoding/json"
	"io"

	"evenkeel.dev/reqtrace"
)

// ExplainVersion is the version of what [Explanation.JSON] writes. It rises when a field changes
// its meaning; new fields do not raise it.
const ExplainVersion = 1

// Explanation is the report on a trace, with the verdict, to be shown.
type Explanation struct {
	Source  string // of the trace: a file or a URL
	Report  *reqtrace.Report
	Verdict Verdict
}

// NewExplanation passes the verdict on a trace.
func NewExplanation(source string, r *reqtrace.Report) *Explanation {
	return &Explanation{Source: source, Report: r, Verdict: NewVerdict(r)}
}

// explanation is the JSON of an Explanation: the report's own, and what is said of it.
// docs/reference/explain-json.md describes it.
type explanation struct {
	Version int     `json:"version"`
	Tool    string  `json:"tool"`
	Source  string  `json:"source"`
	Verdict Verdict `json:"verdict"`
	*reqtrace.Report
}

// JSON writes the report and the verdict as indented JSON.
func (x *Explanation) JSON(w io.Writer) error {
	r := *x.Report
	r.Bands, r.CCDF, r.Slowest, r.Spans = notNil(r.Bands), notNil(r.CCDF), notNil(r.Slowest), notNil(r.Spans)
	out := explanation{Version: ExplainVersion, Tool: Tool(), Source: x.Source, Verdict: x.Verdict, Report: &r}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(&out)
}

// notNil has an empty list written as [], not as null.
func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
