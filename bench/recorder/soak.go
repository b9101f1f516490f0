//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace/recorder"
)

const (
	soakRate   = 500
	soakConns  = 16   // of the load: soon there, as each is a descriptor and a goroutine of the service, and each stall of the machine adds some
	soakLooks  = 60   // at the service, all in all
	soakGrowth = 1.05 // of the last third over the one before
)

// soaked is what a service takes at one moment.
type soaked struct {
	After       time.Duration `json:"after_ns"`
	RSS         int64         `json:"rss_bytes"`
	Descriptors int           `json:"descriptors"`
	Goroutines  int           `json:"goroutines"`
	Disk        int64         `json:"disk_bytes"`
	Analysis    time.Duration `json:"analysis_ns"` // so far
}

// soak loads a service with planted causes for an hour, and looks at what it takes.
func (d *driver) soak(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "bench-recorder-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := d.start(ctx, "plant", "-third", (d.soakFor / 2).String(), "-dir", dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	loaded := make(chan error, 1)
	loading, end := context.WithCancel(ctx)
	defer end()
	go func() {
		_, err := loadgen.Run(loading, loadgen.Options{Targets: []loadgen.Target{{Method: http.MethodGet, URL: s.url}}, Rate: soakRate, Connections: soakConns, Duration: d.soakFor})
		loaded <- err
	}()
	began := time.Now()
	for range soakLooks {
		if !each(ctx, d.soakFor/soakLooks) {
			break
		}
		x, err := look(ctx, s, dir)
		if err != nil {
			return err
		}
		x.After = time.Since(began)
		d.soaked = append(d.soaked, x)
		fmt.Printf("%v: %d MB, %d descriptors, %d goroutines, %d kB on the disk\n", x.After.Round(time.Second), x.RSS>>20, x.Descriptors, x.Goroutines, x.Disk>>10)
	}
	return errors.Join(<-loaded, context.Cause(ctx))
}

func look(ctx context.Context, s *service, dir string) (x soaked, err error) {
	var self struct{ Goroutines int }
	var stats recorder.Stats
	if err := errors.Join(get(ctx, s.url+"/self", &self), get(ctx, s.page+"stats", &stats)); err != nil {
		return x, err
	}
	x.Goroutines, x.Analysis = self.Goroutines, stats.Cost.Analysis
	if x.RSS, err = machine.RSS(s.Pid()); err != nil {
		return x, err
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.Pid()))
	x.Descriptors = len(open)
	return x, errors.Join(err, filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has just been removed
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			x.Disk += info.Size()
		}
		return nil
	}))
}

func (d *driver) soakFigures() {
	third := len(d.soaked) / 3
	if third == 0 {
		return
	}
	for _, what := range []struct {
		name string
		of   func(soaked) float64
	}{
		{"memory", func(x soaked) float64 { return float64(x.RSS) }},
		{"descriptors", func(x soaked) float64 { return float64(x.Descriptors) }},
		{"goroutines", func(x soaked) float64 { return float64(x.Goroutines) }},
	} {
		median := func(of []soaked) float64 {
			var xs []float64
			for _, x := range of {
				xs = append(xs, what.of(x))
			}
			return figure.Median(xs)
		}
		n := len(d.soaked)
		d.set.AtMost("soak: "+what.name+", last third of the one before", []float64{median(d.soaked[n-third:]) / median(d.soaked[n-2*third:n-third])}, soakGrowth, "")
	}
	last := d.soaked[len(d.soaked)-1]
	const most = 64 + 2*8 // MB: Options.KeepBytes, and the history while it is written anew
	d.set.AtMost("soak: disk", []float64{float64(last.Disk) / (1 << 20)}, most, " MB")
	d.set.AtMost("soak: analysis, of a core", []float64{100 * last.Analysis.Seconds() / last.After.Seconds()}, 1, "%")
}
