// Package exchange reads runs from the output of other load tools and HdrHistogram, and writes a
// run's histogram for others. The notes of a run or the error say what a format lacks. Readers take
// any bytes. An error names the line and says what to do.
package exchange
