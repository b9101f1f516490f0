//go:build unix

package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"weak"
)

// patience is how long anything may take on a busy machine.
const patience = 30 * time.Second

// shell starts a script whose first line of standard error it returns when it is there.
func shell(t *testing.T, script string) (*Process, string) {
	t.Helper()
	first := make(chan string, 1)
	p, err := Start(Options{Args: []string{"sh", "-c", script}, Stderr: func(r io.Reader) {
		s, _ := bufio.NewReader(r).ReadString('\n')
		first <- strings.TrimSpace(s)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(canceled(), 0) })
	select {
	case s := <-first:
		return p, s
	case <-time.After(patience):
		t.Fatal("the script wrote nothing")
		return nil, ""
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func await(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatal("the process is not done")
	}
}

// waitGone waits until a process has ended. A zombie, whose parent has not waited for it, counts as
// gone.
func waitGone(t *testing.T, pid string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if !alive(pid) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %s is still there", pid)
		}
	}
}

func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil || n < 2 {
		panic(fmt.Sprintf("pid %q", pid))
	}
	if stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat")); err == nil {
		_, state, _ := strings.Cut(string(stat), ") ")
		return state[0] != 'Z' && state[0] != 'X'
	}
	return syscall.Kill(n, 0) == nil
}

func TestExit(t *testing.T) {
	for _, tt := range []struct{ script, want string }{
		{"exit 0", "exit status 0"},
		{"exit 3", "exit status 3"},
		{"kill -9 $$", "signal: killed"},
	} {
		p, err := Start(Options{Args: []string{"sh", "-c", tt.script}})
		if err != nil {
			t.Fatal(err)
		}
		await(t, p)
		if got := p.Exit(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.script, got, tt.want)
		}
		if p.CPU() < 0 {
			t.Errorf("%s: CPU %v", tt.script, p.CPU())
		}
		if err := p.Stop(context.Background(), time.Hour); err != nil {
			t.Errorf("%s: Stop after its end: %v", tt.script, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("EVENKEEL_A", "inherited")
	t.Setenv("EVENKEEL_B", "inherited")
	var out []byte
	p, err := Start(Options{
		Args:   []string{"sh", "-c", `echo $EVENKEEL_A $EVENKEEL_B >&2; cat >&2`}, // no standard input
		Env:    []string{"EVENKEEL_B=given"},
		Stderr: func(r io.Reader) { out, _ = io.ReadAll(r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, p)
	if string(out) != "inherited given\n" {
		t.Errorf("it wrote %q", out)
	}
}

func TestStderrIsReadToItsEnd(t *testing.T) {
	const lines = 20000
	for _, tt := range []struct {
		name string
		read func(io.Reader, *int)
		want int
	}{
		{"all", func(r io.Reader, n *int) {
			for sc := bufio.NewScanner(r); sc.Scan(); {
				*n++
			}
		}, lines},
		{"reader gives up", func(r io.Reader, n *int) { _, _ = r.Read(make([]byte, 10)) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			p, err := Start(Options{
				Args: []string{"sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); "+
					"done >&2; exit 7", lines)},
				Stderr: func(r io.Reader) { tt.read(r, &n) },
			})
			if err != nil {
				t.Fatal(err)
			}
			await(t, p)
			if n != tt.want || p.Exit() != "exit status 7" {
				t.Errorf("%d lines and %s, want %d and exit status 7", n, p.Exit(), tt.want)
			}
		})
	}
}

func TestStopGently(t *testing.T) {
	p, _ := shell(t, `trap 'echo bye >&2; exit 5' TERM; echo ready >&2; while :; do sleep .02; done`)
	if err := p.Stop(context.Background(), patience); err != nil {
		t.Fatal(err)
	}
	if p.Exit() != "exit status 5" {
		t.Errorf("%s, want exit status 5", p.Exit())
	}
}

const stubborn = `trap '' TERM; echo ready >&2; while :; do sleep .02; done`

func TestStopKills(t *testing.T) {
	p, _ := shell(t, stubborn)
	err := p.Stop(context.Background(), 50*time.Millisecond)
	if !errors.Is(err, ErrKilled) || !strings.Contains(err.Error(), "50ms") {
		t.Errorf("Stop: %v, want ErrKilled and the time", err)
	}
	if p.Exit() != "signal: killed" {
		t.Errorf("%s, want signal: killed", p.Exit())
	}
}

func TestStopEndsWithItsContext(t *testing.T) {
	p, _ := shell(t, stubborn)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("no patience")
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	if err := p.Stop(ctx, time.Hour); !errors.Is(err, ErrKilled) || !errors.Is(err, why) {
		t.Errorf("Stop: %v, want ErrKilled and the context's cause", err)
	}
}

func TestStopByMany(t *testing.T) {
	p, _ := shell(t, stubborn)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := p.Stop(context.Background(), 50*time.Millisecond); err != nil && !errors.Is(err, ErrKilled) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	await(t, p)
}

// TestGrandchildren has what the child started end with it, however it ends.
func TestGrandchildren(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		grace        time.Duration // of Stop; 0: it is not called
		killed       bool
	}{
		{"stopped", `sleep 1000 & echo $! >&2; wait`, patience, false},
		{
			"they ignore SIGTERM", `sh -c 'trap "" TERM; echo $$ >&2; while :; do sleep .02; done' & wait`,
			300 * time.Millisecond, true,
		},
		{"it exits by itself", `sleep 1000 & echo $! >&2; exit 0`, 0, false},
		{"it crashes", `sleep 1000 & echo $! >&2; kill -9 $$`, 0, false},
		{"they hold its output", `sleep 1000 >&2 & echo $! >&2; exit 0`, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, grandchild := shell(t, tt.script)
			if tt.grace > 0 {
				if err := p.Stop(context.Background(), tt.grace); errors.Is(err, ErrKilled) != tt.killed {
					t.Errorf("Stop: %v; killed should be %v", err, tt.killed)
				}
			}
			await(t, p)
			waitGone(t, grandchild)
		})
	}
}

// TestKilledBeforeStopLooked has the grace end for the group while Stop has not looked at its own
// timer yet.
func TestKilledBeforeStopLooked(t *testing.T) {
	p, _ := shell(t, `sh -c 'trap "" TERM; echo $$ >&2; while :; do sleep .02; done' & wait`)
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(context.Background(), time.Hour) }()
	for end := time.Now().Add(patience); p.grace.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("Stop has not begun")
		}
	}
	p.grace.Store(1) // long ago
	await(t, p)
	if err := <-stopped; !errors.Is(err, ErrKilled) {
		t.Errorf("Stop: %v, want ErrKilled", err)
	}
}

// TestGraceForTheGroup has a script that dies of the signal at once, and its server that takes
// a while to end gently.
func TestGraceForTheGroup(t *testing.T) {
	gentle := filepath.Join(t.TempDir(), "gentle")
	up := filepath.Join(t.TempDir(), "up")
	server := `trap 'sleep 0.3; touch "$1"; exit' TERM; touch "$2"; while :; do sleep 0.02; done`
	p, err := Start(Options{Args: []string{"sh", "-c", `sh -c "$0" server "$1" "$2" & wait`, server, gentle, up}})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(up); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the script's server is not up")
		}
	}
	if err := p.Stop(context.Background(), time.Minute); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if _, err := os.Stat(gentle); err != nil {
		t.Errorf("the script's server was not let end: %v", err)
	}
}

// TestUntil tests that a context ends with the process, and that a cancelled one is not kept until
// then.
func TestUntil(t *testing.T) {
	p, _ := shell(t, `echo up >&2; exec sleep 1000`)
	type key struct{}
	kept := func() weak.Pointer[[64]byte] {
		value := new([64]byte)
		_, cancel := p.Until(context.WithValue(context.Background(), key{}, value))
		cancel()
		return weak.Make(value)
	}()
	for end := time.Now().Add(patience); kept.Value() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the process keeps a cancelled context")
		}
		runtime.GC()
	}
	ctx, cancel := p.Until(t.Context())
	defer cancel()
	p.Kill()
	select {
	case <-ctx.Done():
	case <-time.After(patience):
		t.Error("it outlives the process")
	}
}
