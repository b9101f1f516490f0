//go:build linux

package aio_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

const limitEnv = "EVENKEEL_TEST_LIMIT" // of the child: the backend

// TestDescriptorLimit has a child with few descriptors serve echo to clients in this process, more
// than it can: what it has established works, and the others are told.
func TestDescriptorLimit(t *testing.T) {
	if b := os.Getenv(limitEnv); b != "" {
		if err := serveLimited(b); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
		t.Run(b.String(), func(t *testing.T) {
			if w, err := aio.New(aio.Options{Backend: b}); err != nil {
				t.Skipf("needs the backend %v: %v", b, err)
			} else {
				_ = w.Close()
			}
			testLimit(t, b)
		})
	}
}

func testLimit(t *testing.T, b aio.Backend) {
	child := child(t, "TestDescriptorLimit", limitEnv+"="+b.String())
	stop, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	defer func() {
		_ = stop.Close()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "refused ") {
				if strings.HasPrefix(lines.Text(), "refused 0 ") {
					t.Errorf("the child met no limit: %s", lines.Text())
				}
				t.Log(lines.Text())
			}
		}
		if err := child.Wait(); err != nil {
			t.Error("the child:", err)
		}
	}()
	if !lines.Scan() {
		t.Fatal("the child has not said its address")
	}
	at := lines.Text()
	established := 0
	var conns []net.Conn
	for range 120 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		defer func() { _ = c.Close() }()
	}
	works := make([]bool, len(conns))
	for round := range 3 { // again once others were refused
		for i, c := range conns {
			if round > 0 && !works[i] {
				continue
			}
			ok := echoOnce(c, fmt.Sprintf("%d of %d", i, round))
			if round == 0 && ok {
				works[i] = true
				established++
			} else if round > 0 && !ok {
				t.Errorf("established connection %d was lost", i)
			}
		}
	}
	if established < 20 || established == len(conns) {
		t.Errorf("%d of %d connections were established", established, len(conns))
	}
	t.Logf("%d of %d connections were established", established, len(conns))
	// One that goes makes room for another.
	for i, c := range conns {
		if works[i] {
			_ = c.Close()
		}
	}
	deadline := time.Now().Add(patience)
	for {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		ok := echoOnce(c, "room again")
		_ = c.Close()
		if ok {
			break
		}
		if time.Now().After(deadline) {
			t.Error("connections were closed, and there is no room for another")
			break
		}
	}
}

func echoOnce(c net.Conn, message string) bool {
	_ = c.SetDeadline(time.Now().Add(patience)) // it is echoed, or closed
	if _, err := io.WriteString(c, message); err != nil {
		return false
	}
	buf := make([]byte, len(message))
	_, err := io.ReadFull(c, buf)
	return err == nil && string(buf) == message
}

// serveLimited is the child: it serves until its standard input ends.
func serveLimited(backend string) error {
	var b aio.Backend
	if err := b.UnmarshalText([]byte(backend)); err != nil {
		return err
	}
	w, err := aio.New(aio.Options{Backend: b})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		return err
	}
	if _, err := fmt.Println(l.Addr()); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = l.Close()
		_ = w.Close()
	}()
	refused, bad := make(chan int), make(chan error, 1)
	go func() { refused <- acceptLimited(l, w, bad) }()
	err = echoAll(w)
	n := <-refused
	select {
	case err = <-bad:
	default:
	}
	_, _ = fmt.Printf("refused %d connections\n", n)
	return err
}

// acceptLimited attaches what it accepts, and counts what it was refused. bad gets an error that
// does not say that it is the limit.
func acceptLimited(l net.Listener, w *aio.Watcher, bad chan<- error) (refused int) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			c, err := w.Attach(conn)
			if err == nil {
				err = c.Read(nil, nil, none)
			}
			if err == nil {
				continue
			}
			_ = conn.Close()
			if err != syscall.EMFILE {
				bad <- err
				return refused
			}
			refused++
		case errors.Is(err, net.ErrClosed):
			return refused
		case errors.Is(err, syscall.EMFILE):
			refused++
			time.Sleep(time.Millisecond)
		default:
			bad <- err
			return refused
		}
	}
}

// echoAll sends back what comes, until the watcher is closed.
func echoAll(w *aio.Watcher) error {
	for {
		results, err := w.WaitIO()
		if err == aio.ErrWatcherClosed {
			return nil
		}
		if err != nil {
			return err
		}
		for _, r := range results {
			switch {
			case r.Error != nil:
				_ = r.Conn.Close()
			case r.Op == aio.OpRead:
				_ = r.Conn.Write(nil, append([]byte(nil), r.Buffer...), none)
			default:
				_ = r.Conn.Read(nil, nil, none)
			}
		}
	}
}
