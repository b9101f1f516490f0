// Command flake looks for tests that fail by chance. It runs test binaries again and again, shuffled, with GOMAXPROCS
// 1, 2 and 4 in turn, beside a busy loop for each core and a compiler that never ends:
//
//	flake [-rounds 10] [-p 8] [-seed N] [-logs DIR] LIST
//
// LIST has a line for each package: its import path, its folder and its test binary, with tabs between them. Each
// failure is printed with what it takes to run it again, its whole output goes to a file in DIR. The last things printed
// are what the tests have skipped in the first round, and why, and a table of the packages. The exit status is 1 when anything failed, 2 when the rounds could not be run.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/tools/internal/skips"
)

func main() {
	if os.Getenv(busyEnv) != "" {
		beBusy()
	}
	rounds := flag.Int("rounds", 10, "how many times each package runs")
	parallel := flag.Int("p", 8, "how many packages run at once")
	seed := flag.Int64("seed", time.Now().UnixNano(), "of the shuffling; each run prints its own")
	logs := flag.String("logs", os.TempDir(), "folder for the output of what failed")
	flag.Parse()
	if flag.NArg() != 1 || *rounds < 1 || *parallel < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	failures, err := flake(ctx, flag.Arg(0), *rounds, *parallel, *seed, *logs)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "flake:", err)
		os.Exit(2)
	case failures > 0:
		os.Exit(1)
	}
}

// processors are the values of GOMAXPROCS that rounds take in turn.
var processors = []int{1, 2, 4}

// flake runs all rounds and returns how many runs failed. When ctx ends it still prints the table of what it has seen.
func flake(ctx context.Context, list string, rounds, parallel int, seed int64, logs string) (failures int, err error) {
	packages, err := readList(list)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return 0, err
	}
	neighbours, err := startNeighbours(ctx)
	if err != nil {
		return 0, err
	}
	defer neighbours.stop()
	fmt.Printf("%d packages, %d rounds, %d at once, beside %s\n", len(packages), rounds, parallel, neighbours)
	var skipped skips.List
	failures = runRounds(ctx, packages, rounds, parallel, run{seed: seed, logs: logs, skipped: &skipped})
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	skipped.Print(os.Stdout)
	printTable(os.Stdout, packages)
	fmt.Printf("%d runs of packages, %d failed\n", countRuns(packages), failures)
	return failures, err
}

// job is a package's run in a round.
type job struct {
	p *testPackage
	r *run
}

// runRounds runs each package as often as there are rounds, and returns how many runs failed; those that ctx cut off do not
// count. No package runs beside itself, and no round waits for the last of the one before: what is ready takes the next place.
func runRounds(ctx context.Context, packages []*testPackage, rounds, parallel int, first run) (failures int) {
	type end struct {
		job
		result
	}
	var (
		waiting []job // in their order
		begun   = 0   // rounds
		running = map[*testPackage]bool{}
		ended   = make(chan end)
	)
	free := func() int { return slices.IndexFunc(waiting, func(j job) bool { return !running[j.p] }) }
	for {
		for ctx.Err() == nil && len(running) < parallel {
			i := free()
			if i < 0 && begun < rounds {
				r := first
				r.round, r.procs, r.seed = begun+1, processors[begun%len(processors)], first.seed+int64(begun)
				r.left, r.begin = len(packages), time.Now()
				begun++
				slices.SortStableFunc(packages, func(a, b *testPackage) int { // the longest must not run alone in the end
					return cmp.Or(cmp.Compare(b.longest, a.longest), cmp.Compare(b.size, a.size))
				})
				for _, p := range packages {
					waiting = append(waiting, job{p, &r})
				}
				i = free()
			}
			if i < 0 {
				break
			}
			j := waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
			running[j.p] = true
			go func() { ended <- end{j, j.p.run(ctx, j.r)} }()
		}
		if len(running) == 0 {
			return failures
		}
		e := <-ended
		delete(running, e.p)
		if ctx.Err() != nil {
			continue
		}
		failures += e.r.take(e.p, e.result)
	}
}

// take notes what a run of the round came to, and says when it was the round's last. It returns 1 for a failure.
func (r *run) take(p *testPackage, result result) (failed int) {
	p.note(result)
	if r.listsSkips() {
		if err := addSkips(r.skipped, p, result.output); err != nil {
			fmt.Println(err)
		}
	}
	if result.err != nil {
		failed = 1
		report(p, r, result)
	}
	r.failed += failed
	if r.left--; r.left == 0 {
		fmt.Printf("round %d, GOMAXPROCS=%d, seed %d: %d failed, %.0f s\n", r.round, r.procs, r.seed, r.failed, time.Since(r.begin).Seconds())
	}
	return failed
}

// settings are those of the environment that a test binary and its tests hang on, as .ci/flake and .ci/modules make it.
func settings() string {
	var b strings.Builder
	for _, name := range []string{"GOFLAGS", "EVENKEEL_E2E", "EVENKEEL_CHECK"} {
		if v := os.Getenv(name); v != "" {
			fmt.Fprintf(&b, "%s=%s ", name, v)
		}
	}
	return b.String()
}

// report prints a failure and how to run it again, and keeps its output.
func report(p *testPackage, r *run, result result) {
	file := filepath.Join(r.logs, fmt.Sprintf("%s-round%d.log", p.fileName(), r.round))
	fmt.Printf("--- FAILED %s: %v\n", p.path, result.err)
	fmt.Printf("    again: cd %s && %sGOMAXPROCS=%d go test -race -count=1 -parallel=%s -shuffle=%d .\n", p.dir, settings(), r.procs, parallelTests, r.seed)
	if err := os.WriteFile(file, result.output, 0o644); err != nil {
		fmt.Printf("    its output could not be kept: %v\n", err)
	} else {
		fmt.Printf("    output: %s\n", file)
	}
	os.Stdout.Write(failedPart(result.output))
}
