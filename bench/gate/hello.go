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

// helloTeam is the hello of the original: one process, all cores, a gate with its default options.
var helloTeam = team{
	replicas: 1,
	modes:    helloModes(),
	loads:    []load{{name: "hello", rate: helloRate}},
	targets: map[string][]target{"hello": { // what the defaults choose against what the original does
		{"auto", gcigo, "p99", 1, false},
		{"auto", gcigo, "peak memory", 1, false},
		{guarded, gcigo, "p99", 1, false},
		{guarded, gcigo, "peak memory", 1, false},
	}},
	more: (*driver).refusedMore,
}

func helloModes() []mode {
	modes := []mode{{name: "default", what: "the stock runtime"}, {name: gcigo, what: "the original itself, v0.2", original: true}}
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
		if m.path, m.all = "/", true; !m.original {
			m.program = "subject"
		}
		m.work = []string{"-hello"}
	}
	return modes
}

// buildOriginal builds testdata/original with the source of gci-go that -original names, if it names one. That has no go.mod, and what it
// needs beside it: it is built as before there were modules, with the workload of the other programs.
func (d *driver) buildOriginal(ctx context.Context) error {
	if d.original == "" || d.program != "" {
		return nil
	}
	source, err := filepath.Abs(d.original)
	if err != nil {
		return err
	}
	path := filepath.Join(d.dir, "gopath")
	main := filepath.Join(path, "src/original")
	err = errors.Join(os.MkdirAll(main, 0o700), os.WriteFile(filepath.Join(main, "main.go"), originalSource, 0o600))
	for name, from := range map[string]string{
		"github.com/gcinterceptor/gci-go":      source,
		"evenkeel.dev/examples/msgpush/window": filepath.Join(d.deploy, "../examples/msgpush/window"),
	} {
		err = errors.Join(err, os.CopyFS(filepath.Join(path, "src", name), os.DirFS(from)))
	}
	if err != nil {
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

// sheddingTeam is the original's way behind a balancer: who is about to collect refuses, and HAProxy asks the other.
var sheddingTeam = team{
	replicas: 2,
	modes: []mode{
		shedding(mode{name: "default", what: "the stock runtime"}),
		shedding(mode{name: gcigo, what: "the original itself, v0.2", original: true}),
		shedding(mode{name: "shed", what: "policy shed, turns by a file"}, "-gate=shed"),
		shedding(mode{name: shedMore, what: "the same, from the heap on at which the original collects"}, "-gate=shed", "-trigger=450"),
		shedding(mode{name: noTurns, what: "policy shed without turns, as the original", rival: true}, "-gate=shed"),
		floor(shedding(mode{})),
	},
	loads: []load{{name: "shedding", rate: sheddingRate}},
	targets: map[string][]target{"shedding": {
		{"shed", gcigo, "p99", 1, false},
		{"shed", gcigo, "p99.9", 1, false},
		{"shed", gcigo, "peak memory", 1, false},
		{shedMore, gcigo, "p99", 1, false},
		{shedMore, gcigo, "p99.9", 1, false},
		{shedMore, gcigo, "peak memory", 1, false},
	}},
	counts: []count{{mode: "shed", load: "shedding"}, {mode: shedMore, load: "shedding"}},
}

const sheddingRate = 1000 // requests a second, over both replicas

// shedMore is shed with the memory of the original, which collects a third as often as the gate's defaults.
const shedMore = "shed, as much memory"

// shedding fills in a mode of sheddingTeam: 100 MB live.
func shedding(m mode, args ...string) mode {
	m.front, m.program = haproxyRetry, "subject"
	m.args = func(p place) []string {
		all := append([]string{"-window", "100000"}, args...)
		if m.name == "shed" || m.name == shedMore {
			all = p.inTurn(all...)
		}
		return all
	}
	return m
}

// refusedMore adds how much more is refused than by the original.
func (d *driver) refusedMore() {
	const load = "hello"
	for _, mode := range []string{"auto", guarded} {
		var more []float64 // percentage points, by round
		ours, theirs := d.good(mode, load), d.good(gcigo, load)
		for i := range min(len(ours), len(theirs)) {
			more = append(more, 100*(ours[i].figure("failed")-theirs[i].figure("failed")))
		}
		if len(more) > 0 {
			d.set.AtMost("hello: refused by "+mode+" beyond "+gcigo, more, 0, " points")
		}
	}
}
