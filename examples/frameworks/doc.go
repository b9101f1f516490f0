// Package frameworks wraps services of other HTTP frameworks than net/http's mux for a gate of
// evenkeel.dev/gcgate: each function has the line that it takes. docs/guides/adopt/frameworks.md is its table.
package frameworks
