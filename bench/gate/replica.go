package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/examples/child"
)

// replica is a process of the service that runs.
type replica struct {
	*child.Child
	addr string
}

// spec is how to start a replica.
type spec struct {
	mode   mode
	place  place
	addr   string
	core   int
	args   []string  // the workload's, and more
	env    []string  // beside the mode's
	stderr io.Writer // nil: the driver's own
}

// startReplica starts a process and returns when it answers.
func (d *driver) startReplica(ctx context.Context, s spec) (*replica, error) {
	argv := append([]string{d.binary(s.mode), "-addr", s.addr}, s.args...)
	argv = append(argv, s.mode.arguments(s.place)...)
	if s.mode.quota {
		argv = within(d.groups[s.place.replica], argv...)
	}
	if !d.quick { // which measures nothing: on a busy machine they would starve
		argv = nicer(argv...)
	}
	r := &replica{addr: s.addr}
	o := child.Options{Args: argv, Env: slices.Concat(s.mode.environment(s.place), s.env), Stderr: s.stderr}
	if s.stderr == nil {
		o.Stderr = os.Stderr
	}
	if !s.mode.all {
		o.Launch = func(start func() error) error { return machine.Pinned(s.core, start) }
	}
	var err error
	if r.Child, err = child.Start(ctx, o); err != nil {
		return nil, err
	}
	if err := r.await(ctx); err != nil {
		r.stop()
		log, _ := r.Output()
		return nil, fmt.Errorf("%s: %w\n%s", d.binary(s.mode), err, log)
	}
	return r, nil
}

// await returns when the replica answers.
func (r *replica) await(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if resp, err := r.get(within, "/stats"); err == nil {
			return resp.Body.Close()
		}
		select {
		case <-r.Exited():
			return fmt.Errorf("ended before it answered")
		case <-ctx.Done():
			return ctx.Err()
		case <-within.Done():
			return fmt.Errorf("does not answer at %s", r.addr)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stats are what a replica says of itself.
type stats struct {
	Gate    json.RawMessage `json:"gate,omitempty"`
	Runtime struct {
		Collections int64  `json:"collections"`
		PauseNs     int64  `json:"pause_ns"`
		HeapBytes   uint64 `json:"heap_bytes"`
		AllocBytes  uint64 `json:"alloc_bytes"`
		SysBytes    uint64 `json:"sys_bytes"`
	} `json:"runtime"`
}

// gateStats are those of [gcgate.Stats] that the driver reads.
type gateStats struct {
	State                                string
	Escaped, Overlapped, OverlappedOther int64
}

// gate returns what the gate says, nothing without one.
func (s *stats) gate() (g gateStats) {
	if len(s.Gate) > 0 {
		_ = json.Unmarshal(s.Gate, &g) // another form: 0
	}
	return g
}

func (r *replica) stats(ctx context.Context) (*stats, error) {
	s := new(stats)
	return s, r.tell(ctx, "/stats", s)
}

// tell reads the JSON at a path of the replica into x.
func (r *replica) tell(ctx context.Context, path string, x any) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	resp, err := r.get(ctx, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(x)
}

// get returns an answer with status 200. Its body must be closed.
func (r *replica) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.addr+path, nil)
	if err != nil {
		return nil, err
	}
	req.Close = true // it does not stay in the service's way
	resp, err := http.DefaultClient.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("%s: %s", req.URL, resp.Status), resp.Body.Close())
	}
	return resp, err
}

// stop ends the process and returns when it has ended: how says nothing.
func (r *replica) stop() { _ = r.Stop() }
