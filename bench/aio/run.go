//go:build linux

package aio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/harness"
)

// Sizes of a quick run.
const (
	quickConns  = 200
	quickCount  = 100
	quickLength = 50 * time.Millisecond
)

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
		measure = exchange
	}
	v, err := measure(ctx, r, l)
	for name, x := range v {
		r.Set(name, x)
	}
	return err
}

func command(ctx context.Context, r *harness.Run, l load) ([]string, error) {
	if r.Way == cepoll {
		program, err := r.Program(ctx, "bench/aio/cepoll")
		if err != nil {
			err = harness.NotHere(err) // it needs cgo
		}
		return []string{program}, err
	}
	program, err := r.Program(ctx, "bench/aio/server")
	if r.Way == control {
		l.buf = cmp.Or(l.buf, own) // package net shares none
	}
	way := server[r.Way]
	if way == nil {
		way = []string{"-way", r.Way}
	}
	return slices.Concat([]string{
		program, "-do", cmp.Or(l.do, "echo"), "-buf", strconv.Itoa(l.buf), "-size", strconv.Itoa(l.size),
		"-conns", strconv.Itoa(l.conns), "-count", strconv.Itoa(l.count),
	}, way, l.more), err
}

func start(ctx context.Context, r *harness.Run, l load) (srv, client *harness.Child, err error) {
	argv, err := command(ctx, r, l)
	if err != nil {
		return nil, nil, err
	}
	program, err := r.Program(ctx, "bench/aio/client")
	if err != nil {
		return nil, nil, err
	}
	oneP := []string{"GOMAXPROCS=1"}
	if srv, err = r.Start(ctx, 0, oneP, argv...); err != nil {
		return nil, nil, err
	}
	addr, err := srv.Line(0)
	if err == nil {
		client, err = r.Start(
			ctx, 1, oneP, program, "-addr", addr, "-pid", strconv.Itoa(srv.Pid()), "-load", l.client,
			"-size", strconv.Itoa(l.size), "-conns", strconv.Itoa(l.conns), "-count", strconv.Itoa(l.count),
			"-length", r.Length.String(), "-warmup", r.Warmup.String(), "-trace="+strconv.FormatBool(l.trace),
		)
	} else if said := err.Error(); strings.Contains(said, "needs a build with cgo") ||
		strings.HasSuffix(r.Way, "uring") && strings.Contains(said, "io_uring") {
		err = harness.NotHere(err)
	}
	if err != nil {
		srv.Stop()
	}
	return srv, client, err
}

// exchange returns what the client and the server print.
func exchange(ctx context.Context, r *harness.Run, l load) (values, error) {
	srv, cl, err := start(ctx, r, l)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	defer cl.Stop()
	v, err := said(cl, r.Warmup+r.Length)
	if err != nil || !l.says {
		return v, err
	}
	if slices.Contains(l.more, sleeper) {
		err = srv.Signal(syscall.SIGUSR2)
	}
	more, serr := said(srv, 0)
	maps.Copy(v, more)
	return v, errors.Join(err, serr)
}

func said(c *harness.Child, within time.Duration) (v values, err error) {
	text, err := c.Line(within)
	if err != nil {
		return nil, err
	}
	return v, json.Unmarshal([]byte(text), &v)
}

// hold measures what a connection that has had an answer keeps.
func hold(ctx context.Context, r *harness.Run, l load) (values, error) {
	srv, cl, err := start(ctx, r, l)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	defer cl.Stop()
	bytes, err := harness.KeptBytes(srv, cl, l.conns, 100*time.Millisecond)
	return values{keeps: bytes}, err
}

// steps are numbers of connections.
var steps = []int{500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000}

func columns() (names []string) {
	for _, n := range steps {
		names = append(names, strconv.Itoa(n))
	}
	return names
}

// regression measures each number of connections with a fresh server, and fits a line by least
// squares.
func regression(ctx context.Context, r *harness.Run, l load) (values, error) {
	v := values{}
	var n, x, y, xx, xy float64
	for _, conns := range steps[:harness.Unless(r, len(steps), 2)] {
		l.conns = conns
		one, err := exchange(ctx, r, l)
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
