// Package compare puts runs side by side: the figures of each, a column a variant, with ratios to
// the first; the notes that a reader needs before believing them; and the events that happened
// meanwhile. It writes them as text; package page draws the same [Comparison].
package compare
