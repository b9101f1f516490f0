// Package page renders the search form and its results as HTML.
//
// Both what was typed and what the feeds say is hostile until proven otherwise. The
// template escapes everything but the texts of hits, which [Highlight] escapes itself
// because it has to put its marks between the pieces.
package page
