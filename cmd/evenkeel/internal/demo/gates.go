package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/gatestats"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/proc"
	"evenkeel.dev/gcgate/client"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// gates puts load on two replicas that collect under live traffic, and then on two that first have
// their client send its requests to the other one.
func (d *Demo) gates(ctx context.Context) error {
	d.head(fmt.Sprintf("3. Garbage collection out of the way: two replicas, %d MiB live in each, %d requests/s",
		liveMiB, replicaRate))
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
		t.Add(nil, []string{
			"  " + p.name, textfmt.Count(float64(p.pair.overlapped)), textfmt.Count(float64(p.pair.load.Requests())),
			textfmt.Count(float64(p.pair.load.Failed)), p99,
		})
	}
	d.table(t)
	if busy {
		d.say("  This machine is too busy to show p99: timers fire up to %s late. The counts stand.",
			textfmt.Duration(late))
	}
	return nil
}

// pair is what two replicas did under load.
type pair struct {
	load       *loadgen.Result
	overlapped uint64 // requests, with a collection
}

func (p *pair) p99() time.Duration { return p.load.Latency.Quantile(.99) }

// late returns how late the machine lets a timer fire, in one of a hundred cases.
func (p *pair) late() time.Duration { return p.load.Pacer.Quantile(.99) }

// pair starts two replicas with these flags, loads them, and stops them.
func (d *Demo) pair(ctx context.Context, flags ...string) (*pair, error) {
	dir, err := os.MkdirTemp("", "evenkeel-demo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	flags = append(flags, "-addr", "127.0.0.1:0", "-live", fmt.Sprint(liveMiB), "-turns", filepath.Join(dir, "turn"))
	var replicas []*replica
	defer func() {
		for _, r := range replicas {
			d.stop(r.process)
		}
	}()
	transport := &client.Transport{}
	defer transport.Close()
	for range 2 {
		r, err := startReplica(ctx, append([]string{d.program("hello")}, flags...))
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
		Rate: replicaRate, Warmup: time.Second, Duration: d.loads.replicas,
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

// overlapped asks the replicas' gates how many requests overlapped a collection.
func overlapped(ctx context.Context, replicas []*replica) (n uint64, err error) {
	c := gatestats.NewClient()
	for _, r := range replicas {
		s, err := gatestats.Fetch(ctx, c, r.url+"/debug/gate?json")
		if err != nil {
			return 0, err
		}
		n += s.Overlapped + s.OverlappedOther
	}
	return n, nil
}

// replica is a program that says on standard output where it listens.
type replica struct {
	process *proc.Process
	url     string
}

// startReplica returns when the program listens. After an error the replica is not nil if it runs.
func startReplica(ctx context.Context, args []string) (*replica, error) {
	out := &addressLog{found: make(chan string, 1)}
	p, err := proc.Start(proc.Options{Args: args, Env: []string{"GOMAXPROCS=1"}, Stdout: out})
	if err != nil {
		return nil, err
	}
	r := &replica{process: p}
	select {
	case r.url = <-out.found:
		return r, nil
	case <-p.Done():
		return r, fmt.Errorf("%s ended before it listened: %s\n%s", args[0], p.Exit(), out.text.String())
	case <-time.After(patience):
		return r, fmt.Errorf("%s did not listen within %v", args[0], patience)
	case <-ctx.Done():
		return r, cli.ErrInterrupted
	}
}

// addressLog finds the address in a program's log.
type addressLog struct {
	found chan string

	mu   sync.Mutex // guards text, until the program has ended
	text bytes.Buffer
	over bool
}

var listeningURL = regexp.MustCompile(`msg=listening url=(\S+)\n`)

func (l *addressLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return len(b), nil
	}
	l.text.Write(b)
	if m := listeningURL.FindSubmatch(l.text.Bytes()); m != nil {
		l.over = true
		l.found <- string(m[1])
	}
	return len(b), nil
}
