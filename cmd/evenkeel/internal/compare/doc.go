// Package compare puts runs side by side, judges them, and writes text, Markdown or JSON. Package
// page draws the same [Comparison].
package compare
