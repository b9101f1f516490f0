// Package match decides whether an item of a feed holds a term, in two ways that agree on
// every answer and differ in what they allocate. It is the experiment of this example.
//
// [Extra] makes lower-case copies of both texts and of the term for each item of each
// request. [Lean] uses the copies that were made when the feed was fetched. The copies of
// Extra live for a microsecond, but each one brings the next collection nearer.
package match
