//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/testutil"
)

func TestGCTrace(t *testing.T) {
	t.Parallel()
	log := gcLog(1, 20)
	want := []string{"collections 20\n", "of 2 processors", "live", "3 MiB"}
	call("gctrace", logFile(t, log)).check(t, cli.ExitOK, want, nil)
	startWith(t, log, "gctrace").wait().check(t, cli.ExitOK, want, nil)
	startWith(t, log, "gctrace", "-").wait().check(t, cli.ExitOK, want, nil)
	startWith(t, log, "gctrace", "-f").wait().check(t, cli.ExitOK, want, nil) // ends with its input

	r := call("gctrace", "-json", logFile(t, log))
	r.check(t, cli.ExitOK, nil, nil)
	var got struct {
		Summary gctrace.Summary
		Log     gctrace.Stats
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Summary.Collections != 20 || got.Log.Lines != 40 || got.Log.Foreign != 20 {
		t.Errorf("%+v", got)
	}
}

func TestGCTraceOddLogs(t *testing.T) {
	t.Parallel()
	random := make([]byte, 1<<20)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rnd.Uint32())
	}
	const what = "start the program with GODEBUG=gctrace=1"
	call("gctrace", logFile(t, "")).check(t, cli.ExitFailed, nil, []string{"no gctrace line", what})
	call("gctrace", logFile(t, "listening\n")).check(t, cli.ExitFailed, nil, []string{what})
	call("gctrace", "-json", logFile(t, "listening\n")).check(t, cli.ExitFailed, nil, []string{what})
	call("gctrace", logFile(t, string(random))).check(t, cli.ExitFailed, nil, []string{what})
	call("gctrace", logFile(t, strings.Repeat("x", 5<<20))).check(t, cli.ExitFailed, nil, []string{what})
	call("gctrace", logFile(t, string(random)+"\n"+gcLog(1, 3))).check(t, cli.ExitOK, []string{"collections 3\n"}, nil)
	call("gctrace", logFile(t, gcLog(1, 3)+gcLog(7, 9))).check(t, cli.ExitOK,
		[]string{"collections 9\n", "of the 6 of 9 cycles that the log has", "could not be read: 3"}, nil)
	call("gctrace", logFile(t, gcLog(1, 3)+"gc 4 @0.400s 4%: 0.02")).check(t, cli.ExitOK,
		[]string{"! the log ends in the middle of a line"}, nil)
	startWith(t, "", "gctrace").wait().check(t, cli.ExitFailed, nil, []string{"standard input: no gctrace line", what})
}

// TestGCTraceFollows has a log grow, the last time right before the end.
func TestGCTraceFollows(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	for _, flags := range []string{"-f", "-f -json"} {
		name := logFile(t, gcLog(1, 10))
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		grow := func(s string) {
			if _, err := f.WriteString(s); err != nil {
				t.Fatal(err)
			}
		}
		c := start(t, append(strings.Fields("gctrace "+flags), name)...)
		half := gcLog(11, 11)
		grow(half[:len(half)/2])
		if flags == "-f" {
			until(t, "the first view", func() bool { return c.stdout.has("gc 10: 10 collections in ") })
		}
		grow(half[len(half)/2:] + gcLog(12, 20))
		if flags == "-f" {
			until(t, "the next view", func() bool { return c.stdout.has("gc 20: 20 collections in ") })
		} else {
			until(t, "it has begun", func() bool { return readsFile(c.cmd.Process.Pid, name) })
		}
		grow(gcLog(21, 25))
		c.signal(syscall.SIGINT)
		r := c.wait()
		if flags == "-f" {
			r.check(t, cli.ExitOK, []string{"collections 25\n"}, nil)
		} else {
			r.check(t, cli.ExitOK, []string{`"collections": 25,`, `"lines": 50,`}, nil)
		}
	}
}

// readsFile reports whether a process has begun to read a file; where that cannot be known it
// says yes.
func readsFile(pid int, name string) bool {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		return true
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to != name {
			continue
		}
		info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, filepath.Base(fd)))
		return err == nil && !strings.HasPrefix(string(info), "pos:\t0\n")
	}
	return false
}

// TestGCTraceInterrupted reads standard input that does not end. Following, all is read that
// was seen to be; else at least what had left the pipe and the scanner's buffer.
func TestGCTraceInterrupted(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	for _, tt := range []struct {
		flags string
		code  int
		least int64
	}{{"-f", cli.ExitOK, 2000}, {"", cli.ExitInterrupted, 1000}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		c := command(t, append([]string{"gctrace"}, strings.Fields(tt.flags)...)...)
		c.cmd.Stdin = r
		c.start()
		r.Close()
		// Once over a pipe's capacity is written, it has read and so caught signals.
		if _, err := w.WriteString(gcLog(1, 2000)); err != nil {
			t.Fatal(err)
		}
		if tt.flags == "-f" {
			until(t, "all is read", func() bool { return c.stdout.has("gc 2000: ") })
		}
		c.signal(syscall.SIGINT)
		got := c.wait()
		got.check(t, tt.code, []string{"gc 1 to gc ", "time in GC"}, nil)
		var last int64
		if _, after, _ := strings.Cut(got.stdout, "gc 1 to gc "); true {
			_, _ = fmt.Sscan(strings.TrimRight(after[:min(len(after), 5)], ", "), &last)
		}
		if last < tt.least || last > 2000 {
			t.Errorf("%q: %d collections were read, want %d to 2000", tt.flags, last, tt.least)
		}
	}
}
