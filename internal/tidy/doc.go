// Package tidy holds the house to its rules: who may import whom, what every package owes
// its reader, what a go.mod may say, and which links and paths the pages may carry.
//
// The rules run as a test over the whole repository, nested modules included, whatever the
// build tags of a file:
//
//	go test ./internal/tidy                           # every rule
//	go test ./internal/tidy -run TestRepository/links # one rule
//
// A finding reads "file:line: what is wrong: what to do", and cites the rule of CONTRIBUTING.md
// that it breaks. A rule is a function from a [Tree]
// to its findings, so that each has a test of its own over a small tree that breaks it. The
// import arrows are one table, in arrows.go; it and the arrows in ARCHITECTURE.md change together.
//
// The rules read syntax, not types: they catch the slip, not someone bent on evading them.
package tidy
