package report

import (
	"encoding/json"
	"io"
	"time"

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

// explanation is the JSON of an Explanation. What a Report has is in it under its own names; what
// stands here as well takes its place, with the causes by name. docs/reference/explain-json.md
// describes it.
type explanation struct {
	Version int     `json:"version"`
	Tool    string  `json:"tool"`
	Source  string  `json:"source"`
	Verdict Verdict `json:"verdict"`
	*reqtrace.Report
	Total   causeTimes         `json:"total_ns"`
	Bands   []explainedBand    `json:"bands"`
	Median  explainedBand      `json:"median"`
	Tail    explainedBand      `json:"tail"`
	Slowest []explainedRequest `json:"slowest"`
}

type explainedBand struct {
	reqtrace.Band
	Parts  causeTimes  `json:"parts_ns"`
	Excess causeTimes  `json:"excess_ns"`
	Shares causeShares `json:"shares"`
}

type explainedRequest struct {
	ID        string           `json:"id,omitempty"`
	Goroutine int64            `json:"goroutine"`
	Start     time.Duration    `json:"start_ns"`
	End       time.Duration    `json:"end_ns"`
	Parts     causeTimes       `json:"parts_ns"`
	Sites     []reqtrace.Blame `json:"sites"`
	Path      []reqtrace.Tile  `json:"path"`
}

// causeTimes and causeShares leave out the causes that took nothing.
type (
	causeTimes  map[string]time.Duration
	causeShares map[string]float64
)

func newCauseTimes(p *reqtrace.Parts) causeTimes {
	m := causeTimes{}
	for c, d := range p {
		if d != 0 {
			m[reqtrace.Cause(c).String()] = d
		}
	}
	return m
}

func newExplainedBand(b *reqtrace.Band) explainedBand {
	x := explainedBand{Band: *b, Parts: newCauseTimes(&b.Parts), Excess: newCauseTimes(&b.Excess), Shares: causeShares{}}
	x.Sites = notNil(x.Sites)
	for c := range b.Excess {
		if s := b.Share(reqtrace.Cause(c)); s > 0 {
			x.Shares[reqtrace.Cause(c).String()] = significant(s, 4)
		}
	}
	return x
}

// JSON writes the report and the verdict as indented JSON.
func (x *Explanation) JSON(w io.Writer) error {
	r := *x.Report
	r.CCDF, r.Spans = notNil(r.CCDF), notNil(r.Spans)
	out := explanation{
		Version: ExplainVersion, Tool: Tool(), Source: x.Source, Verdict: x.Verdict, Report: &r,
		Total: newCauseTimes(&r.Total), Median: newExplainedBand(&r.Median), Tail: newExplainedBand(&r.Tail),
		Bands: []explainedBand{}, Slowest: []explainedRequest{},
	}
	for i := range r.Bands {
		out.Bands = append(out.Bands, newExplainedBand(&r.Bands[i]))
	}
	for i := range r.Slowest {
		q := &r.Slowest[i]
		out.Slowest = append(out.Slowest, explainedRequest{
			ID: q.ID, Goroutine: q.Goroutine, Start: q.Start, End: q.End,
			Parts: newCauseTimes(&q.Parts), Sites: notNil(q.Sites), Path: notNil(q.Path),
		})
	}
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
