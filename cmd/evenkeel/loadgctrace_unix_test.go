//go:build unix

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

func mkfifo(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// hold opens a named pipe for writing until the test ends, whether or not anybody reads it.
func hold(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestLoadFollowsPipe: a pipe has no end to be waited for while somebody may write to it.
func TestLoadFollowsPipe(t *testing.T) {
	t.Parallel()
	fifo := mkfifo(t)
	hold(t, fifo)
	url := serve(t, func(http.ResponseWriter, *http.Request) {})
	execute(t, "load", "-n", "3", "-pprof", "off", "-gctrace", fifo, url).check(t, cli.ExitOK,
		[]string{"status 200 3", fifo + ": no gctrace line came during the load"}, nil)
}

// TestLoadFollowsPipeOpenedAgain has a pipe end, as far as can be seen, and another writer come
// during the load.
func TestLoadFollowsPipeOpenedAgain(t *testing.T) {
	t.Parallel()
	fifo, out := mkfifo(t), filepath.Join(t.TempDir(), "run.json")
	var asked atomic.Int64
	url := serve(t, func(http.ResponseWriter, *http.Request) {
		if asked.Add(1) == 1 {
			hold(t, fifo)
		}
	})
	first := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0) // when it is read
		if err == nil {
			err = f.Close()
		}
		first <- err
	}()
	execute(t, "load", "-n", "3", "-pprof", "off", "-gctrace", fifo, "-o", out, url).check(t, cli.ExitOK,
		[]string{"status 200 3"}, []string{"wrote " + out})
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestLoadFollowsPipeInterrupted ends under load, and where nobody has opened the pipe to write.
// Each has a server of its own: one may still be handling requests of a load that is over.
func TestLoadFollowsPipeInterrupted(t *testing.T) {
	t.Parallel()
	counts := func(n *atomic.Int64) string {
		return serve(t, func(http.ResponseWriter, *http.Request) { n.Add(1) })
	}
	var loaded, probed atomic.Int64
	held, out := mkfifo(t), filepath.Join(t.TempDir(), "run.json")
	hold(t, held)
	c := start(t, "load", "-z", "10m", "-pprof", "off", "-gctrace", held, "-o", out, counts(&loaded))
	until(t, "requests come", func() bool { return loaded.Load() > 20 })
	c.signal(syscall.SIGINT)
	c.wait().check(t, cli.ExitInterrupted, []string{"! the load was interrupted"}, []string{"wrote " + out})

	c = start(t, "load", "-z", "10m", "-gctrace", mkfifo(t), counts(&probed))
	until(t, "it looks for profiles, which is right before", func() bool { return probed.Load() > 0 })
	c.signal(syscall.SIGINT)
	c.wait().check(t, cli.ExitInterrupted, nil, []string{"evenkeel load: -gctrace: interrupted"})
}

// TestGCTraceFollowsPipe ends at Ctrl-C, though the pipe has a writer that says no more.
func TestGCTraceFollowsPipe(t *testing.T) {
	t.Parallel()
	fifo := mkfifo(t)
	w := hold(t, fifo)
	c := start(t, "gctrace", "-f", fifo)
	if _, err := w.WriteString(gcLog(1, 10)); err != nil {
		t.Fatal(err)
	}
	until(t, "the first view", func() bool { return c.stdout.has("gc 10: 10 collections in ") })
	c.signal(syscall.SIGINT)
	r := c.wait()
	r.check(t, cli.ExitOK, []string{"collections 10\n"}, nil)
	if strings.Contains(r.stderr, "interrupted") {
		t.Error("following ends so")
	}
}
