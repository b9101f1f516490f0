// Package feeds holds three sample RSS feeds and serves them, so that the search program runs
// without a network. The news in them is invented and comes from no publisher.
package feeds
