package fastc_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// roles are what this binary does instead of tests when EVENKEEL_ROLE names one: children that
// are to crash.
var roles = map[string]func(){}

// TestMain fails when the tests leave goroutines behind.
func TestMain(m *testing.M) {
	if role := roles[os.Getenv("EVENKEEL_ROLE")]; role != nil {
		role()
		os.Exit(0)
	}
	flag.Parse()
	code := m.Run()
	if f := flag.Lookup("test.fuzz"); code == 0 && (f == nil || f.Value.String() == "") {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left:", err)
			code = 1
		}
	}
	os.Exit(code)
}
