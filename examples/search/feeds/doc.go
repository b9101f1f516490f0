// Package feeds holds three sample RSS feeds and serves them, so that the search program
// runs with no network. The news in them is invented and comes from no publisher; gen
// composes it from hand-written parts of sentences.
package feeds

//go:generate go run ./gen
