// Package leaks fails a test binary whose tests leave goroutines behind.
package leaks

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests, and ends the process: a TestMain calls it. Goroutines that still end, by what the kernel or another
// process tells them, have some 20 s for it: goleak alone looks for half a second.
func Main(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if code == 0 {
		err := goleak.Find()
		for n := 0; err != nil && n < 50; n++ {
			err = goleak.Find()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left:", err)
			code = 1
		}
	}
	os.Exit(code)
}
