//go:build linux

// Package explain has the cases of package reqtrace: what its analysis costs, and the lock that it
// finds in the search service. The tests of package planted show whether it names the right causes.
package explain

import "evenkeel.dev/bench/harness"

// Cases returns the cases.
func Cases() []harness.Case {
	return []harness.Case{searchCase(), analysisCase()}
}
