//go:build linux

package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
)

// Listens waits until something listens at addr, for a minute at most and until the child ends.
func (c *Child) Listens(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("it does not listen at %s", addr))
	defer cancel()
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-c.Exited():
			return errors.New("it ended at once")
		default:
		}
		if !Wait(ctx, 10*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// KeptBytes returns the server's bytes for each connection that has had an answer. The client opens
// some connections, which page in the code and fill pools of a fixed size, and prints warm. At a line
// of input it opens so many more, and prints held. rest is how long the server has work after that.
func KeptBytes(srv, client *Child, conns int, rest time.Duration) (float64, error) {
	if _, err := client.Await("warm"); err != nil {
		return 0, err
	}
	before, err := srv.settled(rest)
	if err != nil {
		return 0, err
	}
	if err := client.Say(""); err != nil {
		return 0, err
	}
	if _, err := client.Await("held"); err != nil {
		return 0, err
	}
	after, err := srv.settled(rest)
	return float64(after-before) / float64(conns), err
}

// settled returns the bytes of the server's own pages, after it has given back what it does not need.
func (c *Child) settled(rest time.Duration) (int64, error) {
	time.Sleep(rest)
	if err := c.Signal(syscall.SIGUSR1); err != nil {
		return 0, err
	}
	if _, err := c.Await("settled"); err != nil {
		return 0, err
	}
	return machine.OwnBytes(c.Pid())
}

// ReadLoad reads the result of the only run in a file that evenkeel load has written.
func ReadLoad(file string) (*loadgen.Result, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var f struct {
		Runs []struct{ Load *loadgen.Result }
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if len(f.Runs) != 1 || f.Runs[0].Load == nil {
		return nil, fmt.Errorf("%s does not have one run with a load", file)
	}
	return f.Runs[0].Load, nil
}
