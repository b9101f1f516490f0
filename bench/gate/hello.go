package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// helloRate is requests a second, of which each makes 10 MB of garbage.
const helloRate = 150

// The original, and today's defaults in the one line that was its own.
const (
	gcigo   = "gci-go"
	guarded = "guard"
)

// helloModes are the ways to run the hello of the original: one process, all cores, a gate with its
// default options.
func (d *driver) helloModes() []mode {
	modes := []mode{{name: "default", what: "the stock runtime"}, {name: gcigo, what: "the original itself, v0.2", program: d.program}}
	for _, policy := range []struct {
		name, what string
		rival      bool
	}{
		{guarded, "httpgate.Guard without options, which is policy auto", false},
		{"auto", "policy auto", false},
		{"through", "policy through", true},
		{"idle", "policy idle", true},
		{"shed", "policy shed", true},
	} {
		modes = append(modes, mode{name: policy.name, what: policy.what, rival: policy.rival, args: func(place) []string {
			return []string{"-gate", policy.name}
		}})
	}
	for i := range modes {
		m := &modes[i]
		if m.path, m.all = "/", true; m.name != gcigo {
			m.program, m.work = "subject", []string{"-hello"}
		} else {
			m.work = []string{}
		}
	}
	return modes
}

// buildOriginal builds testdata/original with the source of gci-go that -original names, if it names one. That has no go.mod, and what it
// needs beside it: it is built as before there were modules.
func (d *driver) buildOriginal(ctx context.Context) error {
	if d.original == "" || d.program != "" {
		return nil
	}
	source, err := filepath.Abs(d.original)
	if err != nil {
		return err
	}
	path := filepath.Join(d.dir, "gopath")
	main, gci := filepath.Join(path, "src/original"), filepath.Join(path, "src/github.com/gcinterceptor/gci-go")
	if err := errors.Join(os.MkdirAll(main, 0o700), os.WriteFile(filepath.Join(main, "main.go"), originalSource, 0o600), os.CopyFS(gci, os.DirFS(source))); err != nil {
		return err
	}
	program := filepath.Join(d.dir, "original")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "original")
	build.Env = append(os.Environ(), "GO111MODULE=off", "GOFLAGS=", "GOPATH="+path)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("-original %s: %v: %w\n%s", d.original, build, err, out)
	}
	d.program = program
	d.set.Versions["original"] = map[string]string{"source": filepath.Base(source), "go": runtime.Version()}
	return nil
}

//go:embed testdata/original/main.go
var originalSource []byte

// withoutOriginal says that it was left out.
func (d *driver) withoutOriginal() {
	fmt.Fprintln(d.out, "gci-go itself was left out: name the folder of its source by -original (git clone -b v0.2 https://github.com/gcinterceptor/gci-go)")
}

// helloTargets hold what the defaults choose to what the original does.
var helloTargets = []target{
	{"auto", gcigo, "p99", 1, false},
	{"auto", gcigo, "peak memory", 1, false},
	{guarded, gcigo, "p99", 1, false},
	{guarded, gcigo, "peak memory", 1, false},
}

// hello measures the original's own example beside the original itself.
func (d *driver) hello(ctx context.Context) error {
	if err := d.buildOriginal(ctx); err != nil {
		return err
	}
	l := load{name: "hello", rate: helloRate}
	for round := 1; round <= d.rounds; round++ {
		for _, m := range order(d.helloModes(), round) {
			if m.name == gcigo && d.program == "" || round > d.roundsIn(m, d.rounds) {
				continue
			}
			if _, err := d.measure(ctx, m, 1, l, round); err != nil {
				return err
			}
		}
	}
	if d.program == "" {
		d.withoutOriginal()
	}
	d.helloFigures()
	return nil
}

func (d *driver) helloFigures() {
	const load = "hello"
	d.table(load, d.helloModes())
	d.ratios(load, helloTargets)
	for _, mode := range []string{"auto", guarded} {
		var more []float64 // percentage points, by round
		ours, theirs := d.good(mode, load), d.good(gcigo, load)
		for i := range min(len(ours), len(theirs)) {
			more = append(more, 100*(ours[i].figure("failed")-theirs[i].figure("failed")))
		}
		if len(more) > 0 && !d.quick {
			d.set.AtMost("hello: refused by "+mode+" beyond "+gcigo, more, 0, " points")
		}
	}
}
