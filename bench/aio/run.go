package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"evenkeel.dev/bench/aio/wire"
)

// exists reports whether a program is built.
func (d *driver) exists(name string) bool {
	_, err := os.Stat(d.path(name))
	return err == nil
}

// measure runs all rounds. A run that fails is kept as such, and the others go on.
func (d *driver) measure(ctx context.Context) error {
	for round := range d.rounds {
		start := time.Now()
		for li, l := range d.loads {
			if round >= l.rounds {
				continue
			}
			for pi, p := range l.points {
				for i := range l.servers {
					s := l.servers[(i+round+li+pi)%len(l.servers)] // none is always the first
					one, err := d.one(ctx, s, p)
					if ctx.Err() != nil {
						return fmt.Errorf("interrupted in round %d of %d; what is shown is of the runs before", round+1, d.rounds)
					}
					if err != nil {
						failure := fmt.Sprintf("round %d: %s: %v: %v", round+1, s.name, p, err)
						fmt.Fprintln(d.out, failure)
						d.raw.Failures = append(d.raw.Failures, failure)
						continue
					}
					one.Round = round
					d.raw.Samples = append(d.raw.Samples, one)
				}
			}
		}
		fmt.Fprintf(d.out, "round %d of %d: %v\n", round+1, d.rounds, time.Since(start).Round(time.Second))
	}
	return nil
}

// stuck is how long a child may say nothing, beyond what it measures for.
const stuck = time.Minute

// one is one run: a fresh server, a fresh client.
func (d *driver) one(ctx context.Context, s server, p point) (sample, error) {
	out := sample{Server: s.name, Workload: p.workload, Size: p.size, Conns: p.conns}
	srv, err := d.start(ctx, d.argv(s, p), serverCore)
	if err != nil {
		return out, err
	}
	defer srv.end()
	addr, err := srv.line(ctx, stuck)
	if err != nil {
		return out, err
	}
	if partOf(p.workload).name == "idle" {
		return out, d.idle(ctx, srv, addr, p, &out)
	}
	argv := []string{
		d.path("client"), "-addr", addr, "-pid", fmt.Sprint(srv.Pid()), "-load", d.clientLoad(p),
		"-size", fmt.Sprint(p.size), "-conns", fmt.Sprint(p.conns),
		"-length", d.length.String(), "-warmup", d.warmup.String(), "-traced", d.traced(p).String(),
	}
	if p.workload == "sleeper" {
		argv = append(argv, "-mark")
	}
	if n := d.count(p.workload); n > 0 {
		argv = append(argv, "-n", fmt.Sprint(n))
	}
	client, err := d.start(ctx, argv, clientCore)
	if err != nil {
		return out, err
	}
	defer client.end()
	line, err := client.line(ctx, d.length+d.warmup+d.traced(p)+stuck)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal([]byte(line), &out.Result); err != nil {
		return out, fmt.Errorf("the client said %.80q: %w", line, err)
	}
	if p.workload == "sleeper" {
		out.Sleeper, err = heard[wire.Latency](ctx, srv, wire.Sleeper)
	}
	if rows[p.workload].says {
		said, herr := heard[map[string]float64](ctx, srv, wire.Values)
		if err = herr; err == nil {
			out.Values = *said
		}
	}
	return out, err
}

func (d *driver) clientLoad(p point) string {
	if r, ok := rows[p.workload]; ok {
		return r.load
	}
	switch p.workload {
	case "echo64k":
		return "echo"
	case "burst", "regression":
		return "burst"
	}
	return "pingpong"
}

// heard reads what the server said about something.
func heard[T any](ctx context.Context, srv *peer, about string) (*T, error) {
	line, err := srv.line(ctx, stuck)
	if err != nil {
		return nil, err
	}
	text, err := wire.Cut(line, about)
	if err != nil {
		return nil, err
	}
	v := new(T)
	return v, json.Unmarshal([]byte(text), v)
}

// idle measures what connections that have spoken once keep resident in the server. Those before
// them have had the code and the fixed pools brought in.
func (d *driver) idle(ctx context.Context, srv *peer, addr string, p point, out *sample) error {
	const first = 100
	client, err := d.start(ctx, []string{
		d.path("client"), "-addr", addr, "-load", "hold", "-size", fmt.Sprint(p.size), "-conns", fmt.Sprint(p.conns), "-first", fmt.Sprint(first),
	}, clientCore)
	if err != nil {
		return err
	}
	defer client.end()
	if err := await(ctx, client, wire.Warm); err != nil {
		return err
	}
	all, own, err := settle(ctx, srv)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(client.Input, "\n"); err != nil {
		return err
	}
	if err := await(ctx, client, wire.Held); err != nil {
		return err
	}
	allAfter, ownAfter, err := settle(ctx, srv)
	out.Idle = &idle{Resident: (allAfter - all) / float64(p.conns), Anonymous: (ownAfter - own) / float64(p.conns)}
	return err
}

// settle has the server give back what it does not need, and returns what is left.
func settle(ctx context.Context, srv *peer) (all, own float64, err error) {
	time.Sleep(100 * time.Millisecond) // what the last answers left to do
	if err := srv.Signal(syscall.SIGUSR1); err != nil {
		return 0, 0, err
	}
	if err := await(ctx, srv, wire.Settled); err != nil {
		return 0, 0, err
	}
	return resident(srv.Pid())
}

// await waits for a line.
func await(ctx context.Context, c *peer, want string) error {
	line, err := c.line(ctx, stuck)
	if err == nil && line != want {
		err = fmt.Errorf("%s said %.80q instead of %q", c.name, line, want)
	}
	return err
}
