package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/tailstat"
)

// The modes of the part wholepath: the same service, examples/wholepath, with recorder and metrics.
const (
	wholeStock  = "net/http"          // no gate: the runtime collects when it likes
	wholeMet    = "net/http, counted" // collections when they are due, and the requests that they meet counted
	wholeGated  = "net/http, gated"
	wholeHTTPD  = "httpd, gated" // the whole path
	wholeIdle   = 5000           // connections of each replica that have nothing to say
	quickIdle   = 50
	wholePage   = "/report"
	wholeWindow = "30000" // KiB of readings that live
)

var wholeModes = []mode{
	wholeMode(wholeStock, "the stock runtime", func(place) []string { return []string{"-nethttp"} }),
	wholeMode(wholeMet, "the same, under policy through", func(place) []string { return []string{"-nethttp", "-gate=through", "-no-turns"} }),
	wholeMode(wholeGated, "policy drain, HAProxy's runtime API, turns by a file", func(p place) []string {
		return p.inTurn("-nethttp", "-gate=drain", "-haproxy", p.server())
	}),
	wholeMode(wholeHTTPD, "the whole path: gated, and by httpd", func(p place) []string {
		return p.inTurn("-gate=drain", "-haproxy", p.server())
	}),
}

// wholeTeam is two replicas behind HAProxy, to which clients also keep connections of their own, as devices do past a balancer of
// HTTP: that would keep those that are idle for itself.
var wholeTeam = team{
	replicas: 2,
	rounds:   2 * usualRounds,
	modes:    wholeModes,
	loads:    []load{{name: "wholepath", share: moderate}}, // while one is away, the other carries all
	targets: map[string][]target{"wholepath": {
		{wholeHTTPD, wholeStock, "CPU", 1, false},
		{wholeHTTPD, wholeStock, "own memory", 1, false},
		{wholeHTTPD, wholeGated, "CPU", 1, false},
		{wholeHTTPD, wholeGated, "own memory", 1, false},
	}},
	counts: []count{{mode: wholeHTTPD, load: "wholepath", met: true}, {mode: wholeHTTPD, load: "wholepath"}},
	more:   (*driver).wholeFigures,
}

func wholeMode(name, what string, args func(place) []string) mode {
	return mode{
		name: name, what: what, front: haproxy, program: "wholepath", path: wholePage, idle: wholeIdle,
		work: []string{"-admin", "127.0.0.1:0", "-window", wholeWindow}, args: args,
	}
}

// wholeFigures adds what tailstat says of the whole path beside net/http, and prints what a request and a replica take.
func (d *driver) wholeFigures() {
	const load = "wholepath"
	tails := func(mode string) (runs []tailstat.Run) {
		for _, s := range d.good(mode, load) {
			runs = append(runs, figure.Tail(s.Round, s.P99, s.P999))
		}
		return runs
	}
	if len(tails(wholeHTTPD)) == 0 {
		return
	}
	for _, base := range []string{wholeStock, wholeGated} {
		d.set.NotSlower(load+": "+wholeHTTPD, base, tails(base), tails(wholeHTTPD))
	}
	for _, m := range wholeModes {
		ss := d.good(m.name, load)
		if len(ss) == 0 {
			continue
		}
		var cpu []float64
		for _, s := range ss {
			cpu = append(cpu, 1e6*s.figure("CPU")*float64(len(s.CPU))/s.Rate)
		}
		fmt.Fprintf(d.out, "%-20s %5.0f µs of CPU a request, %4.0f MB of its own each replica, with %d idle connections\n",
			m.name, figure.Median(cpu), figure.Median(d.column(m.name, load, "own memory"))/1e6, ss[0].Idle)
	}
}

// hold opens connections to a replica, each of which has one answer and then nothing to say.
func hold(ctx context.Context, addr, path string, n int) (conns []net.Conn, err error) {
	dialer := net.Dialer{KeepAlive: -1} // or the client's kernel would probe them all
	for range n {
		c, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, addr); err != nil {
			return conns, err
		}
		resp, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
		if err != nil {
			return conns, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s%s: %s", addr, path, resp.Status)
		}
		if err != nil {
			return conns, err
		}
	}
	return conns, nil
}
