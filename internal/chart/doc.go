// Package chart draws data as inline SVG, with axes, ticks and a plot that stretches.
package chart
