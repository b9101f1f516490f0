//go:build linux

package aio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
)

// compile builds the server in C. Without a compiler it is left out.
func (g *group) compile(ctx context.Context, _ *harness.Run) (end func(), err error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "evenkeel-cepoll-")
	if err != nil {
		return nil, err
	}
	end = func() { _ = os.RemoveAll(dir) }
	g.cepoll = filepath.Join(dir, "cepoll")
	cmd := exec.CommandContext(ctx, cc, "-O2", "-Wall", "-o", g.cepoll, "aio/cepoll/cepoll.c")
	if out, err := cmd.CombinedOutput(); err != nil {
		return end, fmt.Errorf("cc: %w\n%s", err, out)
	}
	return end, nil
}

// Of a quick run.
const (
	quickConns  = 200
	quickCount  = 100
	quickLength = 50 * time.Millisecond
)

// run measures one way under one load.
func (g *group) run(ctx context.Context, r *harness.Run) error {
	l := g.load(r.Load)
	if r.Quick {
		l.conns, l.count = min(l.conns, quickConns), min(l.count, quickCount)
		r.Length, r.Warmup = quickLength, quickLength/5
	}
	if l.do == "accept" {
		l.conns = early + l.count
	}
	if err := harness.Files(harness.Unless(r, 20_000, 2000)); err != nil {
		return err
	}
	measure := g.measure
	if measure == nil {
		measure = (*group).exchange
	}
	v, err := measure(g, ctx, r, l)
	for name, x := range v {
		r.Set(name, x)
	}
	return err
}

// oneP gives servers and clients one processor of Go's, for the one core that they have.
var oneP = []string{"GOMAXPROCS=1"}

// serve starts a fresh server.
func (g *group) serve(ctx context.Context, r *harness.Run, l load) (srv *harness.Child, addr string, err error) {
	argv := []string{g.cepoll}
	if r.Way == cepoll && g.cepoll == "" {
		return nil, "", harness.NotHere(errors.New("it needs a C compiler named cc"))
	}
	if r.Way != cepoll {
		program, err := r.Program(ctx, "bench/aio/server")
		if err != nil {
			return nil, "", err
		}
		buf := l.buf
		if r.Way == control {
			buf = cmp.Or(buf, own) // package net has no shared one
		}
		way := server[r.Way]
		if way == nil {
			way = []string{"-way", r.Way}
		}
		argv = slices.Concat([]string{
			program, "-do", cmp.Or(l.do, "echo"), "-buf", strconv.Itoa(buf),
			"-conns", strconv.Itoa(l.conns), "-count", strconv.Itoa(l.count),
		}, way, l.more)
	}
	if srv, err = r.Start(ctx, 0, oneP, argv...); err != nil {
		return nil, "", err
	}
	if addr, err = srv.Line(0); err != nil {
		srv.Stop()
		if strings.HasSuffix(r.Way, "uring") && strings.Contains(err.Error(), "io_uring") {
			err = harness.NotHere(err)
		}
	}
	return srv, addr, err
}

// client starts a fresh client.
func client(ctx context.Context, r *harness.Run, l load, addr string, pid int) (*harness.Child, error) {
	program, err := r.Program(ctx, "bench/aio/client")
	if err != nil {
		return nil, err
	}
	return r.Start(
		ctx, 1, oneP, program, "-addr", addr, "-pid", strconv.Itoa(pid), "-load", l.client,
		"-size", strconv.Itoa(l.size), "-conns", strconv.Itoa(l.conns), "-count", strconv.Itoa(l.count),
		"-length", r.Length.String(), "-warmup", r.Warmup.String(),
		"-trace="+strconv.FormatBool(l.trace), "-mark="+strconv.FormatBool(slices.Contains(l.more, sleeper)),
	)
}

// exchange has a client load a server, and returns what both say.
func (g *group) exchange(ctx context.Context, r *harness.Run, l load) (values, error) {
	srv, addr, err := g.serve(ctx, r, l)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	cl, err := client(ctx, r, l, addr, srv.Pid())
	if err != nil {
		return nil, err
	}
	defer cl.Stop()
	v, err := said(cl, r.Warmup+r.Length)
	if err != nil || !l.says {
		return v, err
	}
	more, err := said(srv, 0)
	maps.Copy(v, more)
	return v, err
}

// said reads values.
func said(c *harness.Child, within time.Duration) (v values, err error) {
	text, err := c.Line(within)
	if err != nil {
		return nil, err
	}
	return v, json.Unmarshal([]byte(text), &v)
}

// hold returns the bytes that a connection which has had an answer keeps in the server. The connections
// before them have brought in the code and fixed pools.
func (g *group) hold(ctx context.Context, r *harness.Run, l load) (values, error) {
	srv, addr, err := g.serve(ctx, r, l)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	cl, err := client(ctx, r, l, addr, srv.Pid())
	if err != nil {
		return nil, err
	}
	defer cl.Stop()
	if _, err := cl.Await("warm"); err != nil {
		return nil, err
	}
	before, err := settled(srv)
	if err != nil {
		return nil, err
	}
	if err := cl.Say(""); err != nil {
		return nil, err
	}
	if _, err := cl.Await("held"); err != nil {
		return nil, err
	}
	after, err := settled(srv)
	return values{keeps: (after - before) / float64(l.conns)}, err
}

// settled has the server give back what it does not need, and returns the bytes of its own pages.
func settled(srv *harness.Child) (float64, error) {
	time.Sleep(100 * time.Millisecond) // the server may have work left of the last answers
	if err := srv.Signal(syscall.SIGUSR1); err != nil {
		return 0, err
	}
	if _, err := srv.Await("settled"); err != nil {
		return 0, err
	}
	n, err := machine.OwnBytes(srv.Pid())
	return float64(n), err
}

// steps are the connections of the regression.
var steps = []int{500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000}

func columns() (names []string) {
	for _, n := range steps {
		names = append(names, strconv.Itoa(n))
	}
	return names
}

// regression measures each number of connections with a fresh server, and fits a line by least squares.
func (g *group) regression(ctx context.Context, r *harness.Run, l load) (values, error) {
	v := values{}
	var n, x, y, xx, xy float64
	for _, conns := range steps[:harness.Unless(r, len(steps), 2)] {
		l.conns = conns
		one, err := g.exchange(ctx, r, l)
		if err != nil {
			return nil, err
		}
		ms := one[takes]
		v[strconv.Itoa(conns)] = ms
		thousands := float64(conns) / 1000
		n, x, y, xx, xy = n+1, x+thousands, y+ms, xx+thousands*thousands, xy+thousands*ms
	}
	v[slope] = (n*xy - x*y) / (n*xx - x*x)
	return v, nil
}
