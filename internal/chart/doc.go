// Package chart draws data as inline SVG: axes with ticks that people read, paths in whole units, and
// the markup of a plot that stretches to the size it has. It knows nothing of what is drawn.
package chart
