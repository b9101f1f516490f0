//go:build linux

// Package gc has the study "Garbage Collection In Go: Part II - GC Traces" on this repository's
// search service.
package gc

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"

	"evenkeel.dev/bench/harness"
)

// The study removed one needless allocation per item and request.
const (
	extra    = "extra"
	lean     = "lean"
	extraOff = "extra, GOGC=off"
	leanOff  = "lean, GOGC=off"
)

// as evenkeel run takes them
var variants = map[string]string{
	extra: "-alloc=extra", lean: "-alloc=lean", extraOff: "GOGC=off -alloc=extra", leanOff: "GOGC=off -alloc=lean",
}

const (
	rate          = "requests/s"
	collections   = "collections"
	perCollection = "requests/collection"
	gcTime        = "GC seconds"
)

func Cases() []harness.Case {
	return []harness.Case{
		{
			Name:  "gc/search",
			What:  "10,000 requests to the search service over 100 connections, next to the study's figures",
			Needs: "6 GiB of memory", Rounds: 5, Ways: []string{extra, lean, extraOff, leanOff}, Run: search,
			Claims: []harness.Claim{
				{Way: lean, Over: extra, Figure: collections, Target: harness.AtMost(.65)},
				{Way: lean, Over: extra, Figure: perCollection, Target: harness.AtLeast(1.6)},
				{Way: lean, Over: extra, Figure: gcTime, Target: harness.AtMost(.6)},
			},
		},
	}
}

func search(ctx context.Context, r *harness.Run) error {
	evenkeel, err := r.Program(ctx, "cmd/evenkeel")
	if err != nil {
		return err
	}
	service, err := r.Program(ctx, "examples/search")
	if err != nil {
		return err
	}
	addr, err := harness.FreeAddr()
	if err != nil {
		return err
	}
	dir, err := r.Dir()
	if err != nil {
		return err
	}
	out := filepath.Join(dir, "run.json")
	cmd := exec.CommandContext(ctx, evenkeel, "run", "-n", strconv.Itoa(harness.Unless(r, 10_000, 200)),
		"-c", "100", "-warmup", harness.Unless(r, "1s", "100ms"), "-m", "POST", "-o", out,
		"-url", "http://"+addr+"/search?term=president&cnn=on&bbc=on&nyt=on",
		"-variant", r.Way+": "+variants[r.Way], "--", service, "-addr", addr)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("evenkeel run: %w\n%s", err, text)
	}
	run, err := harness.ReadRun(out)
	if err != nil {
		return err
	}
	if run.GC == nil {
		return fmt.Errorf("evenkeel run: %s has no collections", out)
	}
	load, gc := run.Load, run.GC.Summary
	r.Set(rate, load.Throughput())
	r.Set(collections, float64(gc.Collections))
	if gc.Collections > 0 {
		percent, _ := gc.CPUPercent.Get()
		r.Set(perCollection, float64(load.Answered)/float64(gc.Collections))
		r.Set(gcTime, percent/100*load.Duration.Seconds())
		r.Set("% of CPU in GC", percent)
	}
	return nil
}
