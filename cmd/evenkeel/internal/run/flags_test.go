package run

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/loadgen"
)

// TestPrintsPlan says below the table what replicas the load takes, if the runs know that.
func TestPrintsPlan(t *testing.T) {
	const want = "\nthis load takes "
	for _, known := range []bool{true, false} {
		one := runfile.Run{Label: "a", Load: &loadgen.Result{Answered: 60_000, Duration: 10 * time.Second}}
		one.Alloc = &runfile.Alloc{Bytes: 2_400_000_000}
		one.GC = &runfile.GC{Source: runfile.GCFromTrace}
		s := &one.GC.Summary
		s.Collections, s.Procs = 8, gctrace.Of(1)
		s.CPU.Total = gctrace.Of(3600 * time.Millisecond)
		s.Heap.Live.Mean = gctrace.Of[int64](300_000_000)
		if known {
			one.Disturbance = &runfile.Disturbance{ServiceCPU: gctrace.Of(9 * time.Second)}
		}
		var out strings.Builder
		file := runfile.File{Version: runfile.Version, Runs: []runfile.Run{one}}
		r := &Runner{app: &cli.App{Stdout: &out}, flags: &flags{}, File: file}
		if err := r.print(r.Compared()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), want) != known {
			t.Errorf("CPU is known, %v:\n%s", known, &out)
		}
	}
}
