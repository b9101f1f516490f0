// Package report holds what evenkeel measured and shows it: run.json ([File]), the
// side-by-side table ([Comparison]) as text, and one self-contained HTML page drawn from the
// same data.
package report
