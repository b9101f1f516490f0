package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/gatestats"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/run"
	"evenkeel.dev/gcgate/client"
	"evenkeel.dev/internal/proc"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

func (d *Demo) gates(ctx context.Context) error {
	d.head(fmt.Sprintf("3. Garbage collection out of the way: two replicas, %d MiB live in each, %g requests/s",
		liveMiB, d.loads.replicaRate))
	through, err := d.pair(ctx, "-policy=through")
	if err != nil {
		return err
	}
	gated, err := d.pair(ctx)
	if err != nil {
		return err
	}
	late := max(through.late(), gated.late())
	busy := late > through.p99()/4 || gated.p99() > through.p99()
	t := textfmt.NewTable(5)
	t.Add(d.App.Style.Bold, []string{"", "overlapped a collection", "requests", "failed", "p99"})
	for _, p := range []struct {
		name string
		pair *pair
	}{{"collecting under live traffic", through}, {"gated", gated}} {
		p99 := "-"
		if !busy {
			p99 = textfmt.Duration(p.pair.p99())
		}
		t.Row("  "+p.name, textfmt.Count(float64(p.pair.overlapped)),
			textfmt.Count(float64(p.pair.load.Requests())), textfmt.Count(float64(p.pair.load.Failed)), p99)
	}
	d.table(t)
	if busy {
		d.say("  This machine is too busy to show p99: timers fire up to %s late. The counts stand.",
			textfmt.Duration(late))
	}
	return nil
}

type pair struct {
	load       *loadgen.Result
	overlapped uint64
}

func (p *pair) p99() time.Duration { return p.load.Latency.Quantile(.99) }

func (p *pair) late() time.Duration { return p.load.Pacer.Quantile(.99) }

func (d *Demo) pair(ctx context.Context, flags ...string) (*pair, error) {
	dir, err := os.MkdirTemp("", "evenkeel-demo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	flags = append(flags, "-live", fmt.Sprint(liveMiB), "-turns", filepath.Join(dir, "turn"))
	var replicas []*replica
	defer func() {
		for _, r := range replicas {
			d.stop(r.process)
		}
	}()
	transport := &client.Transport{}
	defer transport.Close()
	for range 2 {
		r, err := d.startReplica(ctx, flags)
		if r != nil {
			replicas = append(replicas, r)
		}
		if err != nil {
			return nil, err
		}
		transport.Targets = append(transport.Targets, r.url)
	}
	var before uint64
	var counting error
	p := load.NewProgress(d.quiet(), "")
	defer p.Clear()
	load, err := p.Run(ctx, loadgen.Options{
		Targets: []loadgen.Target{{URL: "http://hello/"}}, Transport: transport,
		Rate: d.loads.replicaRate, Warmup: time.Second, Duration: d.loads.replicas,
		OnMeasure: func() { before, counting = overlapped(ctx, replicas) },
	})
	switch {
	case ctx.Err() != nil:
		return nil, cli.ErrInterrupted
	case err != nil:
		return nil, err
	}
	after, err := overlapped(ctx, replicas)
	if err := errors.Join(counting, err); err != nil {
		return nil, err
	}
	return &pair{load, after - before}, nil
}

func overlapped(ctx context.Context, replicas []*replica) (n uint64, err error) {
	c := gatestats.NewClient()
	for _, r := range replicas {
		s, err := gatestats.Fetch(ctx, c, r.url+"/debug/gate")
		if err != nil {
			return 0, err
		}
		n += s.Overlapped + s.OverlappedOther
	}
	return n, nil
}

type replica struct {
	process *proc.Process
	url     string
}

// startReplica returns when hello serves. With an error the replica is nil unless it runs.
func (d *Demo) startReplica(ctx context.Context, flags []string) (*replica, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	p, err := proc.Start(proc.Options{
		Args: slices.Concat([]string{d.program("hello"), "-addr", addr}, flags), Env: []string{"GOMAXPROCS=1"},
	})
	if err != nil {
		return nil, err
	}
	r := &replica{p, "http://" + addr}
	return r, run.AwaitReady(ctx, r.url, nil, p, patience)
}
