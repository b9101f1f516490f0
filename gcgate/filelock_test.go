package gcgate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The gate looks for these by type.
var (
	_ HolderNamer = FileTurns{}
	_ Validator   = FileTurns{}
)

const fileTurnsChild = "GCGATE_TEST_FILE_TURNS"

// needsFlock skips where FileTurns says that it cannot work.
func needsFlock(t *testing.T) {
	t.Helper()
	l, err := FileTurns{Path: filepath.Join(t.TempDir(), "lock")}.TryAcquire(t.Context())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("needs flock(2)")
	}
	if err != nil {
		t.Fatal(err)
	}
	release(t, l)
}

func release(t *testing.T, l Lease) {
	t.Helper()
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFileTurns(t *testing.T) {
	needsFlock(t)
	path := filepath.Join(t.TempDir(), "lock")
	one, two := FileTurns{Path: path}, FileTurns{Path: path}
	l, err := one.TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if l.Lost() != nil {
		t.Error("Lost can fire")
	}
	host, err := os.Hostname()
	if got, want := two.Holders(), fmt.Sprintf("%s:%d", host, os.Getpid()); err != nil || got != want {
		t.Errorf("the holder is %q, want %q", got, want)
	}
	for range 3 {
		if _, err := two.TryAcquire(t.Context()); !errors.Is(err, ErrHeld) {
			t.Errorf("got %v, want ErrHeld", err)
		}
	}
	release(t, l)
	if got := two.Holders(); got != "" {
		t.Errorf("no process holds the turn, and it names %q", got)
	}
	if err := l.Release(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("second Release: got %v, want os.ErrClosed", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is not in place or not ours alone: %v, %v", info, err)
	}
	if l, err = two.TryAcquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	release(t, l)
}

func TestFileTurnsErrors(t *testing.T) {
	needsFlock(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "lock")
	for _, tt := range []struct {
		name string
		ctx  context.Context
		path string
		want error // nil: any
	}{
		{"no path", t.Context(), "", nil},
		{"no directory", t.Context(), filepath.Join(path, "no", "lock"), os.ErrNotExist},
		{"a directory", t.Context(), t.TempDir(), nil},
		{"ended", ended, path, context.Canceled},
	} {
		_, err := FileTurns{Path: tt.path}.TryAcquire(tt.ctx)
		if err == nil || errors.Is(err, ErrHeld) || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
		if folder := "make the folder " + filepath.Dir(tt.path) + ","; errors.Is(tt.want, os.ErrNotExist) &&
			!strings.Contains(err.Error(), folder) {
			t.Errorf("%s: %v; want %q", tt.name, err, folder)
		}
	}
}

// TestFileTurnsOfTheDead kills a process that holds the turn. Its own child, which outlives it,
// must not have inherited the lock.
func TestFileTurnsOfTheDead(t *testing.T) {
	if path := os.Getenv(fileTurnsChild); path != "" {
		holdForever(path)
	}
	needsFlock(t)
	turns := FileTurns{Path: filepath.Join(t.TempDir(), "lock")}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFileTurnsOfTheDead$")
	cmd.Env = append(os.Environ(), fileTurnsChild+"="+turns.Path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held\n" {
		t.Errorf("the child said %q, %v", line, err)
	}
	if _, err := turns.TryAcquire(t.Context()); !errors.Is(err, ErrHeld) {
		t.Errorf("while the child lives: got %v, want ErrHeld", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
	l, err := turns.TryAcquire(t.Context())
	if err != nil {
		t.Fatalf("after its death: %v", err)
	}
	release(t, l)
}

// holdForever takes the turn, starts a child that lives on for a while, says so, and sleeps.
func holdForever(path string) {
	if _, err := (FileTurns{Path: path}).TryAcquire(context.Background()); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	if err := exec.Command("sleep", "2").Start(); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("held\n")
	time.Sleep(time.Minute)
	os.Exit(1)
}
