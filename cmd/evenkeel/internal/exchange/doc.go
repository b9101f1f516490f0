// Package exchange reads what other load tools and HdrHistogram wrote, as runs, and writes a run's
// histogram for others to read. What a format cannot carry is said in the notes of the run, or in
// the text of the error.
//
// A format is a file of its own here: its reader, its writer, and in a comment what it carries.
// Readers take any bytes: they return an error that names the line and says what to do, and what
// they return holds together (no negative count, no percentile below a lower one's).
package exchange
