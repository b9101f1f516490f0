//go:build cgo && unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"evenkeel.dev/bench/fastc/sig"
)

// crashVariable names a way to crash, in the environment of the child: also of the test's.
const crashVariable = "BENCH_FASTC_CRASH"

func init() {
	if way := os.Getenv(crashVariable); way == "fast" || way == "technique" {
		crashBy(way)
	}
}

// crashBy is what the child does.
func crashBy(way string) {
	switch way {
	case "fast":
		crashHere(sig.Crash)
	case "technique":
		crashHere(sig.CrashByTechnique)
	}
	fmt.Fprintln(os.Stderr, "still here")
	os.Exit(1)
}

// crashHere is the caller that a report should name.
//
//go:noinline
func crashHere(crash func()) { crash() }

// checkout is the folder in which this was built, which is nobody's business, with a slash.
func checkout() string {
	_, file, _, _ := runtime.Caller(0)
	return strings.TrimSuffix(file, "bench/fastc/crash.go")
}

// crash shows what is left of a report when C crashes.
func (b *bench) crash() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, way := range []string{"fast", "technique"} {
		cmd := exec.CommandContext(b.ctx, self)
		cmd.Env = append(os.Environ(), crashVariable+"="+way)
		out, err := cmd.CombinedOutput()
		if b.ctx.Err() != nil {
			return b.ctx.Err() // that was no crash
		}
		if err == nil {
			return fmt.Errorf("the crash by %s did not happen", way)
		}
		report := strings.ReplaceAll(string(out), checkout(), "")
		b.set.Raw["crash by "+way] = report
		b.crashFigure(way, report)
	}
	return nil
}

// crashFigure says what is left of a report.
func (b *bench) crashFigure(way, report string) {
	signal := strings.Contains(report, "SIGSEGV")
	named := strings.Contains(report, ".crashHere(")
	first, _, _ := strings.Cut(report, "\n")
	fmt.Fprintf(b.set.Out, "  a crash in C, %s: says SIGSEGV: %v, names the Go caller: %v; begins: %s\n", way, signal, named, first)
	if way == "fast" {
		whole := 0.0
		if signal && named {
			whole = 1
		}
		b.set.AtLeast("crash report intact (1: yes)", []float64{whole}, 1, "")
	}
}
