//go:build cgo && unix

package main

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// stopped is what fastc/stops says of a loop.
type stopped struct {
	Profile    bool // built with one that has the generated functions inlined into the loops
	Processors int  // GOMAXPROCS
	Way        string
	Call       time.Duration

	GC, Timer   int64   // ns: the longest runtime.GC, and what a timer of 10 ms was late at most
	Stop        float64 // ns: the longest stop of the world
	Collections uint64
}

const (
	stopBound  = time.Millisecond      // and one call
	timerBound = 20 * time.Millisecond // after which a timer of 10 ms has fired, and one call
)

// stop measures how long loops of leaf calls on all processors hold up the collector and a timer.
func (b *bench) stop() error {
	dir, err := os.MkdirTemp("", "bench-fastc-stops-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []stopped
	for _, profile := range []bool{false, true} {
		bin, err := b.buildStops(dir, profile)
		if err != nil {
			return err
		}
		for _, processors := range []int{1, 2} {
			for _, way := range []string{"direct", "generated", "measured", "Go"} {
				for _, call := range []time.Duration{1, 10, 20, 100} {
					s := stopped{Profile: profile, Processors: processors, Way: way, Call: call * time.Microsecond}
					if err := b.runStops(bin, &s); err != nil {
						return err
					}
					all = append(all, s)
				}
			}
		}
	}
	b.set.Raw["stops"] = all
	b.stopFigures(all)
	return nil
}

// stopTable prints all loops.
func stopTable(all []stopped) {
	var rows [][]string
	for _, s := range all {
		rows = append(rows, []string{
			fmt.Sprintf("%v %s", s.Call, s.Way), fmt.Sprintf("%d, profile: %v", s.Processors, s.Profile),
			fmt.Sprintf("%.3f", s.Stop/1e6), fmt.Sprintf("%.1f", float64(s.GC)/1e6), fmt.Sprintf("%.1f", float64(s.Timer)/1e6),
		})
	}
	table([]string{"loops of calls", "GOMAXPROCS", "longest stop, ms", "longest GC(), ms", "timer late by, ms"}, rows)
}

// stopFigures adds the worst of all loops of a length.
func (b *bench) stopFigures(all []stopped) {
	if len(all) == 0 {
		return
	}
	stopTable(all)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	for _, call := range []time.Duration{1, 10, 20, 100} {
		call *= time.Microsecond
		var fast, inGo stopped // the worst of each figure
		for _, s := range all {
			worst := &fast
			if s.Way == "Go" {
				worst = &inGo
			}
			if s.Call == call {
				worst.Stop, worst.GC, worst.Timer = max(worst.Stop, s.Stop), max(worst.GC, s.GC), max(worst.Timer, s.Timer)
			}
		}
		b.set.AtMost(fmt.Sprintf("loops of calls of %v: longest stop", call), []float64{fast.Stop / 1e6}, ms(stopBound+call), " ms")
		b.set.AtMost(fmt.Sprintf("loops of calls of %v: a timer of 10 ms fires after", call), []float64{10 + float64(fast.Timer)/1e6}, ms(timerBound+call), " ms")
		fmt.Printf("  beside it, longest runtime.GC() %.1f ms; loops of as long functions in Go: stop %.2f ms, timer %.1f ms, GC() %.1f ms\n",
			float64(fast.GC)/1e6, inGo.Stop/1e6, float64(inGo.Timer)/1e6, float64(inGo.GC)/1e6)
	}
}

// buildStops builds fastc/stops, and makes sure that the generated functions are inlined with a
// profile: such functions have no code of their own.
func (b *bench) buildStops(dir string, profile bool) (bin string, err error) {
	bin, flag := filepath.Join(dir, "stops"), "-pgo=off"
	if profile {
		bin, flag = bin+"-profile", "-pgo=fastc/stops/hot.pgo"
	}
	cmd := exec.CommandContext(b.ctx, "go", "build", flag, "-o", bin, "./fastc/stops")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build fastc/stops, in the folder bench: %w\n%s", err, out)
	}
	if !profile {
		return bin, nil
	}
	f, err := elf.Open(bin)
	if err != nil {
		return "", err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return "", err
	}
	for _, name := range []string{"Spin", "MeasuredSpin"} {
		if slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "evenkeel.dev/bench/fastc/sig."+name }) {
			return "", fmt.Errorf("sig.%s is not inlined; fastc/stops/hot.pgo names the lines of the calls", name)
		}
	}
	return bin, nil
}

// runStops runs fastc/stops once.
func (b *bench) runStops(bin string, s *stopped) error {
	cmd := exec.CommandContext(b.ctx, bin, "-way="+s.Way, "-call="+s.Call.String(), "-length="+(b.length/4).String())
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", s.Processors))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if b.ctx.Err() != nil {
		return b.ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("fastc/stops: %w\n%s", err, stderr.String())
	}
	return json.Unmarshal(out, s)
}
