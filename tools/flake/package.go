package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"evenkeel.dev/tools/internal/skips"
)

// testPackage is a package and what its runs came to. Only runRounds changes it.
type testPackage struct {
	path, dir, binary string
	size              int64 // of the binary: a guess at how long it runs
	runs, failures    int
	longest, cpu      time.Duration // cpu: of all runs
}

// readList reads the packages to run.
func readList(file string) ([]*testPackage, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var packages []*testPackage
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: want an import path, a folder and a binary with tabs between them, have %q", file, line)
		}
		binary, err := os.Stat(fields[2])
		if err != nil {
			return nil, err
		}
		packages = append(packages, &testPackage{path: fields[0], dir: fields[1], binary: fields[2], size: binary.Size()})
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("%s names no package", file)
	}
	return packages, nil
}

// run is a round: how it runs its packages, and what it has come to. Only runRounds changes it.
type run struct {
	round, procs int
	seed         int64
	logs         string
	skipped      *skips.List // what tests say that they skip
	begin        time.Time
	left, failed int // runs
}

// listsSkips reports whether its tests say what they skip: all rounds skip the same.
func (r *run) listsSkips() bool { return r.round == 1 }

// result is what a run came to.
type result struct {
	err    error
	output []byte
	took   time.Duration
	cpu    time.Duration // of the children that it has waited for, too
}

// runLimit ends a run that hangs; the test binary then prints the stacks of its goroutines. A package that takes two
// minutes of processors (cmd/evenkeel, bench/gate) has taken ten minutes and more among seven others and the neighbours.
const runLimit = 30 * time.Minute

// parallelTests is how many of a package's parallel tests run at once, whatever GOMAXPROCS is: most of them wait.
const parallelTests = "4"

// run runs the package's tests once, as go test does.
func (p *testPackage) run(ctx context.Context, of *run) result {
	cmd := command(ctx, p.binary, "-test.paniconexit0", "-test.timeout="+runLimit.String(), "-test.parallel="+parallelTests, fmt.Sprintf("-test.shuffle=%d", of.seed))
	if of.listsSkips() {
		cmd.Args = append(cmd.Args, "-test.v=test2json")
	}
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", of.procs), "PWD="+p.dir)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	r := result{err: err, output: out, took: time.Since(begin)}
	if ended := cmd.ProcessState; ended != nil {
		r.cpu = ended.UserTime() + ended.SystemTime()
	}
	return r
}

// command is a command that is killed when ctx ends, with all that it has started: its process group, and where there is
// a /proc what has a group of its own, too. Only who begins a session of his own gets away.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error {
		session := cmd.Process.Pid
		err := syscall.Kill(-session, syscall.SIGKILL)
		for range 100 { // as often as somebody has started another meanwhile
			left := members(session)
			if len(left) == 0 {
				break
			}
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			time.Sleep(10 * time.Millisecond) // for them to be gone
		}
		return err
	}
	cmd.WaitDelay = 10 * time.Second // for the output of what got away
	return cmd
}

// members returns the processes of a session that have not ended, as far as there is a /proc.
func members(session int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// pid (comm) state ppid pgrp session ...; comm may hold anything.
		var state string
		var pid, ppid, group, of int
		_, err = fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &ppid, &group, &of)
		if err != nil || of != session || state == "Z" || state == "X" {
			continue
		}
		if _, err := fmt.Sscan(string(stat), &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// note counts a run.
func (p *testPackage) note(r result) {
	p.runs++
	if r.err != nil {
		p.failures++
	}
	p.longest = max(p.longest, r.took)
	p.cpu += r.cpu
}

// fileName is the import path as the name of a file.
func (p *testPackage) fileName() string {
	return strings.ReplaceAll(strings.TrimPrefix(filepath.ToSlash(p.path), "evenkeel.dev/"), "/", "-")
}

// outputLimit bounds what is printed of a failure; its file has the whole.
const outputLimit = 4 << 10

// failedPart is the output from its first failure on, bounded. Where tests are named as they run, what they say of a failure comes
// before it.
func failedPart(output []byte) []byte {
	before := 0
	if bytes.Contains(output, []byte("=== RUN")) {
		before = outputLimit / 2
	}
	for _, mark := range []string{"--- FAIL", "WARNING: DATA RACE", "panic: "} {
		if i := bytes.Index(output, []byte(mark)); i >= 0 {
			return output[max(0, i-before):min(len(output), i+outputLimit)]
		}
	}
	return output[max(0, len(output)-outputLimit):]
}

// printTable prints a row for each package, the longest run first.
func printTable(w io.Writer, packages []*testPackage) {
	sorted := slices.SortedFunc(slices.Values(packages), func(a, b *testPackage) int {
		return cmp.Or(cmp.Compare(b.failures, a.failures), cmp.Compare(b.longest, a.longest))
	})
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "runs\tfailed\tlongest\tCPU a run\t package")
	for _, p := range sorted {
		fmt.Fprintf(t, "%d\t%d\t%.1f s\t%.1f s\t %s\n", p.runs, p.failures, p.longest.Seconds(), p.cpu.Seconds()/float64(max(p.runs, 1)), p.path)
	}
	t.Flush()
}

func countRuns(packages []*testPackage) (n int) {
	for _, p := range packages {
		n += p.runs
	}
	return n
}
