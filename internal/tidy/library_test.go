package tidy_test

import (
	"testing"

	"evenkeel.dev/internal/tidy"
)

const loud = `package a

import (
	"fmt"
	std "log"
	"os"
)

func f() {
	fmt.Printf("x")
	std.Fatal("x")
	std.Println("x")
	println("x")
	defer os.Exit(1)
}
`

const nosy = `package a

import "os"

var (
	x = os.Getenv("X")
	y = func() string { return os.Getenv("Y") }
	z = func() string { return os.Getenv("Z") }()
)

func init() {
	_, _ = os.LookupEnv("X")
}

func later() string { return os.Getenv("X") }
`

func TestLibraries(t *testing.T) {
	runRule(t, tidy.CheckLibraries, []ruleTest{
		{"as it should be", files{"a/a.go": `package a

import (
	"fmt"
	"io"
	"log/slog"
)

func f(w io.Writer, log *slog.Logger) {
	fmt.Fprintln(w, "x")
	log.Warn("x")
}
`}, nil},
		{"not a library", files{
			"a/a_test.go":     loud,
			"internal/a/a.go": loud,
			"cmd/a/main.go":   "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(1) }\n",
		}, nil},
		{"loud", files{"a/a.go": loud}, []string{
			"a/a.go:10: a library prints with fmt.Printf",
			"a/a.go:11: a library uses log.Fatal",
			"a/a.go:12: a library uses log.Println",
			"a/a.go:13: a library prints with println",
			"a/a.go:14: a library calls os.Exit",
		}},
		{"nosy", files{"examples/a/a.go": nosy}, []string{
			"examples/a/a.go:6: a library reads the environment with os.Getenv as it is initialised",
			"examples/a/a.go:8: a library reads the environment with os.Getenv as it is initialised",
			"examples/a/a.go:12: a library reads the environment with os.LookupEnv as it is initialised",
		}},
	})
}

func TestTests(t *testing.T) {
	runRule(t, tidy.CheckTests, []ruleTest{
		{"as it should be", files{"a/a_test.go": `package a

import (
	"encoding/xml"
	"testing"
)

func TestX(t *testing.T) {
	t.Skip("needs io_uring")
	t.Skipf("needs %s", "io_uring")
	var d xml.Decoder
	d.Skip()
}

// The race detector sees all: no //go:norace.
`}, nil},
		{"bare", files{
			"a/a_test.go": `package a

import "testing"

func BenchmarkX(b *testing.B) {
	b.Run("y", func(sub *testing.B) { sub.Skip() })
	b.Skip("")
}
`,
			"a/help.go": `package a

import "testing"

func Need(tb testing.TB) { tb.SkipNow() }

//go:norace
func racy() {}
`,
		}, []string{
			"a/a_test.go:6: skips without a reason",
			"a/a_test.go:7: skips without a reason",
			"a/help.go:5: skips without a reason",
			"a/help.go:7: hides from the race detector with //go:norace",
		}},
	})
}
