package tools

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lanesOf is .ci/lanes with the root module in one lane and module tools in the other: each runs a script.
func lanesOf(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	file := filepath.Join(t.TempDir(), "test")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("../.ci/lanes", file)
	cmd.Env = append(os.Environ(), "MODULES=.,tools")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// TestLanes has the other modules' output come last, and one that fails fail all.
func TestLanes(t *testing.T) {
	for _, tt := range []struct {
		script string
		fails  bool
	}{
		{"basename \"$PWD\"\n", false},
		{"basename \"$PWD\"; [ -e Makefile ]\n", true},
		{"basename \"$PWD\"; [ ! -e Makefile ]\n", true},
	} {
		cmd := lanesOf(t, tt.script)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); (err != nil) != tt.fails {
			t.Errorf("%q: %v", tt.script, err)
		}
		if lines := strings.Fields(out.String()); len(lines) != 2 || lines[0] == "tools" || lines[1] != "tools" {
			t.Errorf("%q: it said %q, want the name of the root folder and then tools", tt.script, lines)
		}
	}
}

// TestLanesEnd ends both lanes, with all that they have started, in the ways in which people and machines do.
func TestLanesEnd(t *testing.T) {
	signal := func(s syscall.Signal, toGroup bool) func(*exec.Cmd, io.Writer) error {
		return func(cmd *exec.Cmd, _ io.Writer) error {
			if toGroup {
				return syscall.Kill(-cmd.Process.Pid, s)
			}
			return cmd.Process.Signal(s)
		}
	}
	for _, tt := range []struct {
		name, lane string // what a lane does first
		terminal   bool
		end        func(*exec.Cmd, io.Writer) error
	}{
		{name: "TERM", end: signal(syscall.SIGTERM, false)},
		{name: "TERM to the group", end: signal(syscall.SIGTERM, true)},
		{name: "HUP to the group", end: signal(syscall.SIGHUP, true)},
		{name: "INT to the group", end: signal(syscall.SIGINT, true)},
		{name: "they ignore TERM", lane: "trap '' TERM\n", end: signal(syscall.SIGTERM, false)},
		{name: "the keyboard", terminal: true, end: func(_ *exec.Cmd, keyboard io.Writer) error {
			_, err := keyboard.Write([]byte{3}) // Ctrl-C
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begun := filepath.Join(t.TempDir(), "begun")
			lines := fifo(t, begun)
			cmd := lanesOf(t, fmt.Sprintf("%ssleep 1000 &\necho $$ $! >%s\nwait\n", tt.lane, begun))
			t.Parallel() // not before: a child could have the script open for writing
			if tt.terminal {
				script, err := exec.LookPath("script")
				if err != nil {
					t.Skip("needs script (util-linux), for a terminal")
				}
				cmd.Path, cmd.Args = script, []string{"script", "-qec", strings.Join(cmd.Args, " "), "/dev/null"}
			}
			keyboard, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Signal(syscall.SIGTERM) }() // where the test fails
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			_ = lines.SetReadDeadline(time.Now().Add(time.Minute))
			read := bufio.NewReader(lines)
			var pids []int
			for range 2 {
				var lane, child int
				if _, err := fmt.Fscanln(read, &lane, &child); err != nil {
					t.Fatalf("only %d lanes have begun: %v", len(pids)/2, err)
				}
				pids = append(pids, lane, child)
			}
			defer func() {
				for _, pid := range pids {
					if runs(pid) {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			}()
			if err := tt.end(cmd, keyboard); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 130 {
					t.Errorf("it ended with %v, want exit status 130", err)
				}
			case <-time.After(time.Minute):
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				t.Error("it goes on")
			}
			for _, pid := range pids {
				gone(t, pid)
			}
		})
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); runs(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("process %d is still there", pid)
			return
		}
	}
}

// runs reports whether a process has not ended. One that nobody has asked about has.
func runs(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, state, _ := strings.Cut(string(stat), ") ")
		return state[0] != 'Z' && state[0] != 'X'
	}
	return syscall.Kill(pid, 0) == nil
}
