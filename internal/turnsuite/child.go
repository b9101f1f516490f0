package turnsuite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Environment of a child.
const (
	childAddr = "TURNSUITE_CHILD"
	childTTL  = "TURNSUITE_TTL"
)

// Child makes this process a holder of the turn until it is killed, if a test has started it for
// that. Call it first in TestMain.
func Child(open func(addr string, ttl time.Duration) (Turns, error)) {
	addr := os.Getenv(childAddr)
	if addr == "" {
		return
	}
	fail := func(err error) {
		fmt.Println(err)
		os.Exit(1)
	}
	ttl, err := time.ParseDuration(os.Getenv(childTTL))
	if err != nil {
		fail(err)
	}
	turns, err := open(addr, ttl)
	if err != nil {
		fail(err)
	}
	go func() {
		end := time.Now().Add(Patience + ttl)
		l, err := turns.TryAcquire(context.Background())
		for err != nil && time.Now().Before(end) { // a busy machine may be too slow for the TTL
			time.Sleep(lookTick)
			l, err = turns.TryAcquire(context.Background())
		}
		if err != nil {
			fail(err)
		}
		fmt.Println("held")
		<-l.Lost()
		fmt.Println("lost")
	}()
	io.Copy(io.Discard, os.Stdin) // ends with the parent
	os.Exit(1)
}

func (s Suite) holderDies(t *testing.T) {
	s.parallel(t)
	a := s.Shared(t)
	for ttl := 5 * time.Second; !holderDies(t, a, ttl); ttl *= 2 {
		t.Logf("the child lost a turn with a TTL of %v", ttl)
		if ttl >= 40*time.Second {
			t.Fatal("no child kept its turn")
		}
	}
}

// holderDies reports whether a child held the turn until it was killed. A stopped machine can take
// the turn from it.
func holderDies(t *testing.T, a Arbiter, ttl time.Duration) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childAddr+"="+a.Addr(), childTTL+"="+ttl.String())
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	said := bufio.NewReader(stdout)
	if line, err := said.ReadString('\n'); line != "held\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	lost := make(chan struct{})
	go func() {
		if line, _ := said.ReadString('\n'); line == "lost\n" {
			close(lost)
		}
	}()
	turns := a.New(t, Options{})
	for renewed := a.Renewed(t); !renewed(); time.Sleep(50 * time.Millisecond) {
		l, err := TryAcquire(turns)
		if err != nil {
			continue
		}
		select {
		case <-lost:
		case <-time.After(Patience):
			t.Fatal("two have the turn: the child did not say that it has lost it")
		}
		Release(t, l)
		return false
	}
	cmd.Process.Kill()
	killed := time.Now()
	Release(t, TakeWithin(t, turns, ttl+Patience))
	t.Logf("free %v after the kill, TTL %v", time.Since(killed).Round(time.Millisecond), ttl)
	return true
}
