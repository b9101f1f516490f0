package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/examples/child"
)

// running is a service that the driver started.
type running struct {
	*child.Child
	url string
}

// listening is the line with which a service says where it is.
var listening = regexp.MustCompile(`(?:^|msg=listening url=)(http://[0-9.:]+)`)

// start starts a service, env beside the driver's own environment, and returns when it listens.
func start(ctx context.Context, env []string, argv ...string) (*running, error) {
	return launch(ctx, child.Options{Args: argv, Env: env})
}

// launch does that where o says more of how.
func launch(ctx context.Context, o child.Options) (*running, error) {
	o.Ready, o.Input, o.Stderr, o.StopTimeout = listening, true, os.Stderr, 3*time.Second
	c, err := child.Start(ctx, o)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: make bench-explain builds it", err)
	}
	if err != nil {
		return nil, err
	}
	return &running{c, c.Match}, nil
}

// end ends the service, gently if it listens: how it ended says nothing.
func (c *running) end() { _ = c.Stop() }

// cpu returns the CPU time that the service has used.
func (c *running) cpu() (time.Duration, error) { return machine.CPUTime(c.Pid()) }
