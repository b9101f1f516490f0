// Package explain has the limits and the JSON of evenkeel explain.
package explain

import (
	"io"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// version of both JSON forms rises when a field changes its meaning.
const version = 1

func WriteJSON(w io.Writer, source string, v *verdict.Verdict) error {
	return cli.WriteJSON(w, struct {
		Version int              `json:"version"`
		Tool    string           `json:"tool"`
		Source  string           `json:"source"`
		Verdict *verdict.Verdict `json:"verdict"`
		*reqtrace.Report
	}{version, runfile.Tool(), source, v, complete(v.Report())})
}

func notNil[T any](s []T) []T { return append([]T{}, s...) }

func WriteChange(w io.Writer, sides [2][]string, c *verdict.Change) error {
	return cli.WriteJSON(w, struct {
		Version int      `json:"version"`
		Tool    string   `json:"tool"`
		Old     []string `json:"old_sources"`
		New     []string `json:"new_sources"`
		Change  any      `json:"change"`
	}{version, runfile.Tool(), sides[0], sides[1], c})
}
