//go:build unix

package main

import (
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/aiotest"
	"evenkeel.dev/examples/internal/program"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { program.Main(main, func() { leaks.Main(m) }) }

func needs(t *testing.T, backend aio.Backend) {
	t.Helper()
	w, err := aio.New(aio.Options{Backend: backend})
	if err != nil {
		t.Skipf("needs %v: %v", backend, err)
	}
	w.Close()
}

func TestEchoserver(t *testing.T) {
	path := os.Args[0]
	for _, tt := range []struct {
		backend aio.Backend
		loops   string
	}{{aio.BackendAuto, "1"}, {aio.BackendIOUring, "3"}, {aio.BackendEpoll, "3"}} {
		t.Run(tt.backend.String(), func(t *testing.T) {
			needs(t, tt.backend)
			p := program.Start(t, path, "-backend", tt.backend.String(), "-loops", tt.loops)
			var clients sync.WaitGroup
			for i := range 20 {
				c := p.Dial()
				clients.Go(func() {
					message := strings.Repeat("to and fro ", 1+i*1000)
					go func() {
						_, _ = io.WriteString(c, message)
						_ = c.CloseWrite()
					}()
					if got, err := io.ReadAll(c); err != nil || string(got) != message {
						t.Errorf("client %d: %d bytes of %d, %v", i, len(got), len(message), err)
					}
				})
			}
			clients.Wait()
			idle := p.Dial()
			echo := make([]byte, 1) // the kernel resets what waits in a listener's queue
			if _, err := io.WriteString(idle, "x"); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(idle, echo); err != nil {
				t.Fatal(err)
			}
			if log := p.Stop(syscall.SIGINT); !strings.Contains(log, "msg=stopped") {
				t.Errorf("the log ends so:\n%s", log)
			}
			if _, err := idle.Read(echo); err != io.EOF {
				t.Errorf("an idle connection at the end: %v, want io.EOF", err)
			}
		})
	}
	t.Run("refuses", func(t *testing.T) {
		program.Refuses(t, path, 2, "flag provided but not defined: -port", "-port", "7000")
		program.Refuses(t, path, 2, `unexpected argument "7000"`, "7000")
		program.Refuses(t, path, 2,
			`"iocp" is not a backend: write auto, io_uring, epoll or kqueue`, "-backend", "iocp")
		program.Refuses(t, path, 2, "-loops 0: it must be 1 to 256", "-loops", "0")
		p := program.Start(t, path)
		program.Refuses(t, path, 1, "address already in use; choose another address with -addr", "-addr", p.Addr)
		p.Stop(syscall.SIGTERM)
		if w, err := aio.New(aio.Options{Backend: aio.BackendKqueue}); err == nil {
			w.Close()
		} else {
			program.Refuses(t, path, 1, "kqueue is not available here", "-addr", "127.0.0.1:0", "-backend", "kqueue")
		}
	})
}

func TestWaitFails(t *testing.T) {
	testOccupied(t, func(w *aio.Watcher, _ *aio.Listener) error { return echo(w, nil) })
}

// testOccupied calls run with a Watcher that another goroutine waits on. run has to end with
// WaitIO's error.
func testOccupied(t *testing.T, run func(w *aio.Watcher, l *aio.Listener) error) {
	t.Helper()
	closed, err := aio.New(aio.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := closed.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	synctest.Test(t, func(t *testing.T) {
		w, err := aiotest.NewWatcher(aio.Options{}, aiotest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		go w.WaitIO()
		synctest.Wait()
		if err := run(w, l); err != aio.ErrWaiting {
			t.Errorf("it ends with %v, want %v", err, aio.ErrWaiting)
		}
	})
}
