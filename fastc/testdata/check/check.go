// Package check is what every mode of building must pass: calls with known results, and the way
// that they took.
package check

import (
	"encoding/json"

	"evenkeel.dev/fastc"
)

// Report is what a program of the matrix says about itself.
type Report struct {
	Available bool
	Source    string
	Wrong     []string
}

// JSON runs the calls and returns a Report.
func JSON() string {
	text, _ := json.Marshal(Report{Wrong: wrong(), Available: fastc.Available(), Source: fastc.Source()})
	return string(text)
}
