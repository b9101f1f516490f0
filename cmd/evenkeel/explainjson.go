package main

import (
	"encoding/json"
	"io"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// explainVersion is the version of what writeJSON writes. It rises when a field changes its meaning;
// new fields do not raise it.
const explainVersion = 1

// writeJSON writes a verdict and the report that it is on as indented JSON, which
// docs/reference/explain-json.md describes.
func writeJSON(w io.Writer, source string, v *verdict.Verdict) error {
	r := *v.Report()
	r.Bands, r.Blocks, r.CCDF, r.Classes, r.Slowest, r.Spans = notNil(r.Bands), notNil(r.Blocks), notNil(r.CCDF), notNil(r.Classes), notNil(r.Slowest), notNil(r.Spans)
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(struct {
		Version int              `json:"version"`
		Tool    string           `json:"tool"`
		Source  string           `json:"source"`
		Verdict *verdict.Verdict `json:"verdict"`
		*reqtrace.Report
	}{explainVersion, runfile.Tool(), source, v, &r})
}

// notNil has an empty list written as [], not as null.
func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
