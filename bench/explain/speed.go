//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/reqtrace"
)

// speedSizes are the sizes of the traces in MB. With -quick only the first is used.
var speedSizes = []int{10, 130, 500}

const (
	speedKey        = "speed "
	speedGoroutines = 10_000
)

// speedCost is what Analyze takes for a trace of many goroutines, by round.
type speedCost struct {
	Megabytes  int       `json:"megabytes"` // that were asked for
	Bytes      int       `json:"trace_bytes"`
	Goroutines int       `json:"goroutines"`
	Requests   int       `json:"requests"`
	CPU        []float64 `json:"cpu_of_reading"`
	Peak       []float64 `json:"peak_heap_of_trace"`
	AlonePeak  []float64 `json:"peak_heap_of_reading"`
}

// speed measures the CPU time and memory that Analyze takes for traces of many goroutines. It
// alternates with only reading them.
func (d *driver) speed(ctx context.Context) error {
	sizes := speedSizes
	if d.quick {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		b, err := d.many(ctx, size)
		if err != nil {
			return err
		}
		c := speedCost{Megabytes: size, Bytes: len(b), Goroutines: speedGoroutines}
		for round := range max(d.rounds, 3) {
			if err := c.round(ctx, b, round%2 == 1); err != nil {
				return err
			}
		}
		d.set.Raw[fmt.Sprint(speedKey, size)] = c
		fmt.Fprintf(d.out, "speed: %d MB, %d requests, peak heap of only reading %.2f of the trace\n",
			size, c.Requests, figure.Median(c.AlonePeak))
		d.speedFigures(c)
	}
	return nil
}

// many lets the plant write a trace, and returns it.
func (d *driver) many(ctx context.Context, megabytes int) ([]byte, error) {
	dir, err := os.MkdirTemp("", "bench-explain-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "trace")
	plant := exec.CommandContext(ctx, filepath.Join(d.bin, "plant"),
		"-write", file, "-goroutines", fmt.Sprint(speedGoroutines), "-bytes", fmt.Sprint(megabytes*1_000_000))
	plant.Stderr = os.Stderr
	if err := plant.Run(); err != nil {
		return nil, fmt.Errorf("plant -write: %w", err)
	}
	return os.ReadFile(file)
}

// round only reads a trace and then analyzes it, or the other way round.
func (c *speedCost) round(ctx context.Context, b []byte, analyzeFirst bool) error {
	var alone, analyzed time.Duration
	read := func() (err error) {
		var peak float64
		alone, peak, err = cost(func() error { return readAlone(b) })
		c.AlonePeak = append(c.AlonePeak, peak/float64(len(b)))
		return err
	}
	analyze := func() (err error) {
		var peak float64
		analyzed, peak, err = cost(func() error {
			r, err := reqtrace.Analyze(ctx, bytes.NewReader(b), reqtrace.Options{})
			if err == nil {
				c.Requests = r.Requests
			}
			return err
		})
		c.Peak = append(c.Peak, peak/float64(len(b)))
		return err
	}
	steps := []func() error{read, analyze}
	if analyzeFirst {
		steps[0], steps[1] = analyze, read
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	c.CPU = append(c.CPU, analyzed.Seconds()/alone.Seconds())
	return nil
}

// cost returns the CPU time that this process takes for f, and by how many bytes its heap grows at
// most.
func cost(f func() error) (cpu time.Duration, peak float64, err error) {
	runtime.GC()
	before, err := cpuTime()
	if err != nil {
		return 0, 0, err
	}
	highest := watch()
	if err := f(); err != nil {
		return 0, 0, err
	}
	peak = highest()
	after, err := cpuTime()
	return after - before, peak, err
}

// cpuTime returns the CPU time of this process.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

func (d *driver) speedFigures(c speedCost) {
	name := fmt.Sprintf("speed, %d MB: ", c.Megabytes)
	d.set.AtMost(name+"CPU time, of reading alone", c.CPU, 1.5, "x")
	d.set.AtMost(name+"peak heap, of the trace", c.Peak, 1.5, "x")
}
