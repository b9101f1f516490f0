package fastc_test

import (
	"os"
	"testing"

	"evenkeel.dev/internal/leaks"
)

// roles are what this binary does instead of tests when EVENKEEL_ROLE names one: children that
// are to crash.
var roles = map[string]func(){}

// TestMain fails when the tests leave goroutines or open files behind.
func TestMain(m *testing.M) {
	if role := roles[os.Getenv("EVENKEEL_ROLE")]; role != nil {
		role()
		os.Exit(0)
	}
	leaks.Main(m)
}
