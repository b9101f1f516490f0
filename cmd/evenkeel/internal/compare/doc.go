// Package compare puts runs side by side. A column is a variant, with ratios to the first. It adds
// notes and the events of the runs, and writes text, Markdown or JSON. Package page draws the same
// [Comparison].
package compare
