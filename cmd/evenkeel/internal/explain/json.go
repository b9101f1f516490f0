package explain

import (
	"io"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// version is that of both JSON forms. It rises when a field changes its meaning.
const version = 1

// WriteJSON writes a verdict as docs/reference/explain-json.md describes.
func WriteJSON(w io.Writer, source string, v *verdict.Verdict) error {
	r := *v.Report()
	r.Bands, r.Blocks, r.CCDF, r.Classes, r.Slowest, r.Spans = notNil(r.Bands), notNil(r.Blocks), notNil(r.CCDF),
		notNil(r.Classes), notNil(r.Slowest), notNil(r.Spans)
	return cli.WriteJSON(w, struct {
		Version int              `json:"version"`
		Tool    string           `json:"tool"`
		Source  string           `json:"source"`
		Verdict *verdict.Verdict `json:"verdict"`
		*reqtrace.Report
	}{version, runfile.Tool(), source, v, &r})
}

func notNil[T any](s []T) []T { return append([]T{}, s...) }

// WriteChange writes a change as docs/reference/explain-json.md describes.
func WriteChange(w io.Writer, sides [2][]string, c *verdict.Change) error {
	return cli.WriteJSON(w, struct {
		Version int      `json:"version"`
		Tool    string   `json:"tool"`
		Old     []string `json:"old_sources"`
		New     []string `json:"new_sources"`
		Change  any      `json:"change"`
	}{version, runfile.Tool(), sides[0], sides[1], c})
}
