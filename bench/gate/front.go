package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"evenkeel.dev/examples/child"
)

// The balancers.
const (
	haproxy      = "haproxy"
	haproxyRetry = "haproxy, retry on 503"
	haproxyPolls = "haproxy, polls" // as driver.polling says
	nginx        = "nginx"
)

// front is a balancer that runs.
type front struct{ *child.Child }

// startFront starts a balancer of this kind before the replicas.
func (d *driver) startFront(ctx context.Context, kind string) (*front, error) {
	argv, env, err := d.config(kind)
	if err != nil {
		return nil, err
	}
	c, err := child.Start(ctx, child.Options{Args: argv, Env: env, StopTimeout: 2 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("%w; install %s, for instance: sudo apt-get install %s", err, argv[0], argv[0])
	}
	f := &front{c}
	if err := f.await(ctx, d.front); err != nil {
		f.stop()
		stdout, stderr := c.Output()
		return nil, fmt.Errorf("%s: %w\n%s%s", argv[0], err, stdout, stderr)
	}
	return f, nil
}

// await returns when something listens at addr.
func (f *front) await(ctx context.Context, addr string) error {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && ctx.Err() == nil; {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-f.Exited():
			return fmt.Errorf("ended at once")
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("does not listen at %s", addr)
}

// reload makes HAProxy's master start a new worker.
func (f *front) reload() error { return f.Signal(syscall.SIGUSR2) }

// stop ends it and returns when it has ended: how says nothing.
func (f *front) stop() { _ = f.Stop() }

// freeAddr returns an address on which nothing listens just now. Its port is none of those that the kernel gives to
// connections, so that nobody has it before the server that it is for.
func freeAddr() (addr string, err error) {
	for range 1000 {
		addr = fmt.Sprintf("127.0.0.1:%d", 31000+rand.IntN(1700))
		var ln net.Listener
		if ln, err = net.Listen("tcp", addr); err == nil {
			return addr, ln.Close()
		}
	}
	return "", err
}
