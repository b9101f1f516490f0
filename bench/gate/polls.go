package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/loadgen"
)

// polling is how a balancer polls.
type polling struct {
	every      time.Duration
	fall, rise int // answers in a row that make it act
}

func (p polling) String() string {
	return fmt.Sprintf("every %v, fall %d, rise %d", p.every, p.fall, p.rise)
}

// pollings are the ways to poll that are tried; the last is HAProxy's own when nothing is said.
var pollings = []polling{
	{10 * time.Millisecond, 1, 1},
	{200 * time.Millisecond, 1, 1},
	{500 * time.Millisecond, 1, 1},
	{time.Second, 1, 1},
	{2 * time.Second, 3, 2},
}

const (
	polledRate = 500      // requests a second, over both replicas
	pollsSeed  = 20180104 // of the pauses between collections
	askTimeout = time.Minute
)

// polled is what came of one way to poll.
type polled struct {
	Polling     string        `json:"polling"`
	Length      time.Duration `json:"length_ns"`
	Requests    int64         `json:"requests"`
	Failed      int64         `json:"failed"` // no answer, or another status than 200
	Statuses    map[int]int64 `json:"statuses"`
	Asked       int           `json:"asked"`       // both replicas for a collection, at once
	Unanswered  int           `json:"unanswered"`  // of these, where a collection did not end
	Collections int           `json:"collections"` // of both replicas
	Met         int           `json:"met"`         // of these, those that met requests
	MetRequests int           `json:"met_requests"`
	Gates       []any         `json:"gates"`    // gcgate.Stats of each replica
	Warnings    []string      `json:"warnings"` // of both gates
}

// polls measures two replicas behind a HAProxy that polls their health, often and seldom.
func (d *driver) polls(ctx context.Context) error {
	defer d.pollFigures() // also of what was measured before an error
	for _, p := range pollings {
		r, err := d.polled(ctx, p)
		if err != nil {
			return fmt.Errorf("%v: %w", p, err)
		}
		d.cases = append(d.cases, r)
		fmt.Fprintf(d.out, "polled %s: %d requests, %d failed; both asked %d times at once (%d without an answer): %d collections, of which %d met requests, %d of them; %d warnings\n",
			r.Polling, r.Requests, r.Failed, r.Asked, r.Unanswered, r.Collections, r.Met, r.MetRequests, len(r.Warnings))
	}
	return nil
}

func (d *driver) pollFigures() {
	for _, r := range d.cases {
		if !d.quick {
			d.set.AtMost("polled "+r.Polling+": failed requests", []float64{float64(r.Failed)}, 0, "")
		}
	}
}

// polled runs one way to poll.
func (d *driver) polled(ctx context.Context, p polling) (out polled, err error) {
	d.polling = p
	out = polled{Polling: p.String(), Length: d.polledFor}
	m := mode{name: "polled", front: haproxyPolls, program: "subject", args: func(at place) []string {
		return at.inTurn("-gate=drain", "-health", "-fall", strconv.Itoa(p.fall), "-rise", strconv.Itoa(p.rise))
	}}
	sys, err := d.open(ctx, m, 2, nil)
	if err != nil {
		return out, err
	}
	defer func() {
		sys.close()
		for _, r := range sys.replicas {
			out.Warnings = append(out.Warnings, r.warnings()...)
		}
	}()

	asking, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { out.Asked, out.Unanswered = d.ask(asking, sys, p.every) })
	r, err := loadgen.Run(ctx, sys.options(load{rate: polledRate}, d.polledFor, 0))
	stop()
	wg.Wait()
	if err != nil || ctx.Err() != nil {
		return out, errors.Join(err, context.Cause(ctx))
	}
	out.Requests, out.Failed, out.Statuses = r.Requests(), r.Failed+notOK(r), r.Statuses
	for _, rep := range sys.replicas {
		var met struct{ Collections, Met, Requests int }
		err = errors.Join(err, rep.tell(ctx, "/met", &met))
		out.Collections += met.Collections
		out.Met += met.Met
		out.MetRequests += met.Requests
		st, serr := rep.stats(ctx)
		if err = errors.Join(err, serr); err == nil {
			out.Gates = append(out.Gates, st.Gate)
		}
	}
	return out, err
}

// ask asks both replicas for a collection at once, again and again until ctx ends: each time when
// both have collected, after a pause of up to every. It returns how often it
// did, and how often a replica did not collect.
func (d *driver) ask(ctx context.Context, sys *system, every time.Duration) (asked, unanswered int) {
	rng := rand.New(rand.NewPCG(pollsSeed, 0))
	for asked < d.asks {
		collected := make([]bool, len(sys.replicas))
		var wg sync.WaitGroup
		for i, r := range sys.replicas {
			wg.Go(func() { collected[i] = r.collect(ctx) })
		}
		wg.Wait()
		if ctx.Err() != nil {
			break // the load ended first
		}
		asked++
		for _, c := range collected {
			if !c {
				unanswered++
			}
		}
		if pause(ctx, time.Duration(rng.Int64N(int64(every)))+10*time.Millisecond) != nil {
			break
		}
	}
	return asked, unanswered
}

// collect asks a subject for a collection and reports whether it took place.
func (r *replica) collect(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.addr+"/collect", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// warnings returns the log's lines of level Warn. It is called when the replica has ended.
func (r *replica) warnings() (lines []string) {
	log, _ := r.Output()
	for line := range strings.Lines(log) {
		if strings.Contains(line, " level=WARN ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
