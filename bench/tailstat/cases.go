//go:build linux

// Package tailstat has the cases of package tailstat: whether its intervals hold the truth, how often it
// finds a difference of a service to itself, and how often one that is there.
package tailstat

import "evenkeel.dev/bench/harness"

// Cases returns the cases.
func Cases() []harness.Case {
	return []harness.Case{coverageCase(), sequentialCase(), runsCase(), alarmsCase(), powerCase()}
}
