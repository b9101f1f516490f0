// Package child analyses a snapshot in a process of its own: the service's executable again, or another program that has
// package recorder linked in.
//
// That process is told by its last argument, [Marker], which this package looks for as it is initialised. So a child never gets as far as
// main, whatever flags, ports and files that would take, and nobody can forget a call that prevents it: who can start a child has
// this package. Of the program, only what the initialisation of packages does that come before this one happens again.
//
//	parent                             child
//	Run: the executable, Marker  ───>  init: lowest priority, bounds of time and memory
//	a line of JSON (Job), the trace ─> standard input
//	Explained                    <───  standard output: JSON
//	why not                      <───  standard error
//
// The child answers once and exits. It opens no file but those that set its priority, and starts nothing.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/history"
)

// Marker is the last argument of a child.
const Marker = "evenkeel-recorder-analyzes-standard-input"

// Bounds of a child. A trace of more than MaxTraceBytes is read so far only.
const (
	MaxTraceBytes  = 64 << 20
	maxAnswerBytes = 8 << 20
	softMemory     = 128 << 20 // the collector works harder beyond it
	hardMemory     = 512 << 20 // it gives up beyond it
	maxTime        = 2 * time.Minute
	maxCPUSeconds  = 60
)

// Job is what a child is told beside the trace.
type Job struct {
	Threshold time.Duration `json:"threshold_ns"` // of what is slow
	Snapshot  string        `json:"snapshot"`
	Build     string        `json:"build"`
	Taken     time.Time     `json:"taken"`
	Usual     history.Usual `json:"usual"`
}

func init() {
	if n := len(os.Args); n < 2 || os.Args[n-1] != Marker {
		return
	}
	if err := answer(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// answer is all that a child does.
func answer(in io.Reader, out io.Writer) error {
	lowerPriority()
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(100) // the service may have turned it off
	debug.SetMemoryLimit(softMemory)
	go giveUp(hardMemory, maxTime, func(why string) {
		fmt.Fprintln(os.Stderr, why)
		os.Exit(1)
	})
	e, err := analyze(in)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(e)
}

func analyze(in io.Reader) (*history.Explained, error) {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the first line of standard input: %w", err)
	}
	var j Job
	if err := json.Unmarshal(line, &j); err != nil {
		return nil, fmt.Errorf("the first line of standard input: %w", err)
	}
	requests := reqtrace.Read(context.Background(), io.LimitReader(r, MaxTraceBytes), reqtrace.Options{})
	e, err := history.Explain(requests, history.Trace{Threshold: j.Threshold, Snapshot: j.Snapshot, Build: j.Build, Taken: j.Taken, Usual: j.Usual})
	switch {
	case errors.Is(err, reqtrace.ErrNoRequests):
		return &history.Explained{}, nil
	case err != nil && (e == nil || e.Requests+len(e.Slow) == 0): // else, of a trace that is cut off, what could be read
		return nil, err
	}
	return e, nil
}

// giveUp ends the process where it takes longer than most, or more bytes than memory.
func giveUp(memory uint64, most time.Duration, end func(why string)) {
	late := time.After(most)
	taken := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for {
		select {
		case <-late:
			end(fmt.Sprint("the analysis takes longer than ", most))
			return
		case <-time.After(50 * time.Millisecond):
		}
		if metrics.Read(taken); taken[0].Value.Kind() == metrics.KindUint64 && taken[0].Value.Uint64() > memory {
			end(fmt.Sprintf("the analysis takes more memory than %d MiB", memory>>20))
			return
		}
	}
}
