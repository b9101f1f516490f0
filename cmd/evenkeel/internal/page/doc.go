// Package page writes the self-contained pages: [Compare] of runs side by side, [Explain] of a
// verdict on a trace. A page has its style and its script in it once, loads nothing, and shows the
// same charts without its script.
package page
