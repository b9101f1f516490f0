//go:build unix

package runfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// saverEnv makes the test binary a program that saves to a file in its folder, in one of the ways
// of savers.
const saverEnv = "EVENKEEL_REPORT_SAVER"

var savers = map[string]func() error{
	"full": func() error {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 10_000, Max: 10_000}); err != nil {
			return err
		}
		if err := saves("file", strings.Repeat("x", 20_000)); !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("no room: %w", err)
		}
		return nil
	},
	"killed": func() error {
		return Save("file", func(w io.Writer) error {
			_, err := io.WriteString(w, "half")
			fmt.Println("half")
			_, _ = io.Copy(io.Discard, os.Stdin) // until the parent's kill
			return err
		})
	},
	"not allowed": func() error {
		if os.Geteuid() == 0 {
			if err := syscall.Setuid(65534); err != nil {
				return err
			}
		}
		for _, name := range []string{"read-only", "file", "none"} {
			serr, cerr := saves(name, "new"), CanSave(name)
			if !errors.Is(serr, fs.ErrPermission) || !errors.Is(cerr, fs.ErrPermission) {
				return fmt.Errorf("%s: %w, %w", name, serr, cerr)
			}
			if says := strings.Contains(serr.Error(), "no file can be made in ."); says != (name != "read-only") {
				return fmt.Errorf("%s: %w", name, serr)
			}
		}
		return nil
	},
}

func init() {
	save, ok := savers[os.Getenv(saverEnv)]
	if !ok {
		return
	}
	if err := save(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func saver(t *testing.T, dir, way string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), saverEnv+"="+way)
	return cmd
}

// TestSaveNotAllowed: neither a file that must not be written nor one in a folder that must not.
func TestSaveNotAllowed(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "read-only"), "old", 0o444)
	put(t, filepath.Join(dir, "file"), "old", 0o666)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	out, err := saver(t, dir, "not allowed").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // or it could not be removed
		t.Fatal(err)
	}
	has(t, dir, map[string]string{"read-only": "old", "file": "old"})
}

// TestSaveFull: where there is no room for the file, nothing has changed and nothing is left.
func TestSaveFull(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	put(t, name, "old", 0o600)
	put(t, name+".tmp", "the user's own", 0o600)
	if out, err := saver(t, dir, "full").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	has(t, dir, map[string]string{"file": "old", "file.tmp": "the user's own"})
}

// TestSaveKilled: nor has it after a kill, but for a file that no user has made.
func TestSaveKilled(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	put(t, name, "old", 0o600)
	put(t, name+".tmp", "the user's own", 0o600)
	cmd := saver(t, dir, "killed")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	half := make([]byte, len("half\n"))
	if _, err := io.ReadFull(out, half); err != nil || string(half) != "half\n" {
		t.Errorf("%q, %v", half, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	left, err := filepath.Glob(filepath.Join(dir, ".evenkeel-*.tmp"))
	if err != nil || len(left) != 1 {
		t.Errorf("%q, %v", left, err)
	}
	for _, l := range left {
		os.Remove(l)
	}
	has(t, dir, map[string]string{"file": "old", "file.tmp": "the user's own"})
}

// TestSaveSpecial: a device is written to, not replaced; and what it says is said.
func TestSaveSpecial(t *testing.T) {
	if err := errors.Join(CanSave(os.DevNull), saves(os.DevNull, "text")); err != nil {
		t.Error(err)
	}
	if fi, err := os.Stat(os.DevNull); err != nil || fi.Mode().IsRegular() {
		t.Fatalf("%s is a file now: %v, %v", os.DevNull, fi, err)
	}
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skipf("%v: a disk without room is TestSaveFull's", err)
	}
	if err := saves(full, "text"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%s: %v", full, err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		b, err := os.ReadFile(pipe)
		read <- fmt.Sprint(string(b), err)
	}()
	if err := saves(pipe, "text"); err != nil {
		t.Error(err)
	}
	if got := <-read; got != "text<nil>" {
		t.Error(got)
	}
}
