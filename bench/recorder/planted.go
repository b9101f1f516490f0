//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/history"
)

// plantResult is what became of planted causes.
type plantResult struct {
	Truth     map[string]float64 `json:"truth"`                   // shares, as the service knows them
	Said      map[string]float64 `json:"said"`                    // by the recorder
	SeenAfter time.Duration      `json:"seen_after_ns,omitempty"` // when the third cause was explained
	NewAfter  time.Duration      `json:"new_after_ns,omitempty"`  // when it was new, in runs in which that came within an hour
	Slow      uint64             `json:"slow"`
	Seen      uint64             `json:"seen"`
	Accounted uint64             `json:"accounted"` // seen, or counted with why not
	Summaries []history.Summary  `json:"summaries"`
}

const (
	plantedRate = 300
	plantedEach = "2s" // snapshots: shares of a few windows say little
)

// runPlanted loads the service with planted causes. Slow requests that nobody planted are in neither share.
func (d *driver) runPlanted(ctx context.Context) (err error) {
	third := d.planted / 2
	s, err := d.start(ctx, "plant", "-third", third.String(), "-every", plantedEach, "-recorder-cpu", "1", "-in-process")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	fmt.Printf("planted causes: %v\n", d.planted)
	began := time.Now()
	loaded := make(chan error, 1)
	go func() {
		_, err := loadgen.Run(ctx, loadgen.Options{Targets: []loadgen.Target{{Method: http.MethodGet, URL: s.url}}, Rate: plantedRate, Duration: d.planted})
		loaded <- err
	}()
	p := &plantResult{SeenAfter: d.planted}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-loaded:
			if err != nil {
				return err
			}
			if err := p.read(ctx, s); err != nil {
				return err
			}
			d.plant = p
			return nil
		case <-tick.C:
		}
		after := time.Since(began) - third
		if after < 0 || p.SeenAfter < d.planted {
			continue
		}
		h := &history.History{}
		if err := get(ctx, s.page+"json", h); err != nil {
			return err
		}
		for _, sum := range h.Summaries(time.Time{}) {
			if sum.Key.Cause == reqtrace.CauseNetwork {
				p.SeenAfter = after
				fmt.Printf("the third cause is explained after %v\n", after)
			}
		}
	}
}

// read reads the truth and what the recorder says.
func (p *plantResult) read(ctx context.Context, s *service) error {
	var truth map[string]int64
	h := &history.History{}
	time.Sleep(5 * time.Second) // the last window's analysis
	if err := errors.Join(get(ctx, s.url+"/truth", &truth), get(ctx, s.page+"json", h)); err != nil {
		return err
	}
	p.Truth, p.Said = map[string]float64{}, map[string]float64{}
	var all, said float64
	for cause, n := range truth {
		p.Truth[cause] = float64(n)
		all += float64(n)
	}
	p.Summaries = h.Summaries(time.Time{})
	for _, sum := range p.Summaries {
		cause := sum.Key.Cause.String()
		if _, planted := truth[cause]; planted {
			p.Said[cause] += float64(sum.Requests)
			said += float64(sum.Requests)
		}
	}
	for cause := range truth {
		p.Truth[cause] /= max(all, 1)
		p.Said[cause] /= max(said, 1)
	}
	c := h.Coverage(time.Time{})
	p.Slow, p.Seen, p.Accounted = c.Slow, c.Seen, accounted(c)
	return nil
}

// accounted returns of how many slow requests it is known what became of them.
func accounted(c history.Coverage) uint64 {
	return c.Seen + c.Cut + c.Kept + c.Limited + c.Off + c.Failed
}
