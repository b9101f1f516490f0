package recorder

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/reqtrace"
)

// recorded returns a trace of a service that refreshes its cache under a lock.
func recorded(t *testing.T) []byte {
	t.Helper()
	return unpacked(t, "../testdata/go1.26.trace.gz")
}

func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAnalyzeThrottled tests that a snapshot reports the CPU quota if the kernel's counts say that
// it was used up.
func TestAnalyzeThrottled(t *testing.T) {
	const dir = "../../cmd/evenkeel/testdata/"
	log, err := os.Open(dir + "throttled.cpu.log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cpu, err := cpuwatch.ReadLog(log)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(history.Head{Trace: history.Trace{Threshold: 40 * time.Millisecond}, CPU: cpu})
	if err != nil {
		t.Fatal(err)
	}
	var head history.Head // as others read it
	if err := json.Unmarshal(text, &head); err != nil {
		t.Fatal(err)
	}
	e, _, err := analyze(t.Context(), hurried, &head, bytes.NewReader(unpacked(t, dir+"throttled.trace.gz")))
	if err != nil {
		t.Fatal(err)
	}
	throttled := 0
	for i := range e.Slow {
		if e.Slow[i].Key.Cause == reqtrace.CauseThrottled {
			throttled++
		}
	}
	if n := len(e.Slow); n < 10 || throttled < 8*n/10 {
		t.Errorf("%d of %d slow requests waited for the quota", throttled, n)
	}
}

var hurried = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// TestAnalyze tests that an analysis in the process, with rests and without, gives the same as
// elsewhere.
func TestAnalyze(t *testing.T) {
	leaks.Test(t)
	b, job := recorded(t), &history.Head{Trace: history.Trace{Threshold: 10 * time.Millisecond, Snapshot: "x"}}
	want, err := job.Explain(t.Context(), bytes.NewReader(b), reqtrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, hurry := range []chan struct{}{nil, hurried} {
		got, took, err := analyze(t.Context(), hurry, job, bytes.NewReader(b))
		if err != nil || took <= 0 || len(got.Slow) != len(want.Slow) || len(got.Slow) == 0 ||
			got.Slow[0].Words != want.Slow[0].Words {
			t.Errorf("%v, %v: %+v", took, err, got)
		}
	}
	if e, _, err := analyze(t.Context(), hurried, job, strings.NewReader("garbage")); err == nil {
		t.Errorf("of garbage: %+v", e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := analyze(ctx, hurried, job, bytes.NewReader(b)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if e, _, err := analyze(t.Context(), hurried,
		job, io.MultiReader(bytes.NewReader(b), iotest.ErrReader(io.ErrUnexpectedEOF))); err != nil ||
		len(e.Slow) == 0 {
		t.Errorf("a trace that breaks off: %v", err)
	}
}

// TestAnalyzePanics tests that an analysis that panics is an error, and is logged once.
func TestAnalyzePanics(t *testing.T) {
	_, _, err := analyze(t.Context(), hurried, nil, strings.NewReader("")) // no head
	if !errors.Is(err, errPanic) || !strings.Contains(err.Error(), "nil pointer") {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.analysis = func(context.Context, history.Trace) (*history.Explained, time.Duration, error) {
			return nil, 0, errPanic
		}
		var log strings.Builder
		r := begin(t, f, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 3 {
			slowRequest(r, "")
			time.Sleep(20 * time.Second)
		}
		end(t, r)
		if n := r.Stats().Failures[string(failPanic)]; n != 3 || strings.Count(log.String(), "panicked") != 2 {
			// once in a line's message and once in its error
			t.Errorf("%d failures:\n%s", n, log.String())
		}
	})
}

// TestMemory tests that a recorder without enough memory analyses nothing and counts that, and that
// it goes on once there is memory again.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := begin(t, f, Options{})
		for _, low := range []bool{false, true, false} {
			f.low.Store(low)
			slowRequest(r, "")
			time.Sleep(20 * time.Second)
		}
		end(t, r)
		if s := r.Stats(); s.Analyzed != 2 || s.Failures[string(failMemory)] != 1 || f.writes.Load() < 2 {
			t.Errorf("%+v", s)
		}
	})
	dir := t.TempDir()
	if left := groupLeft(dir); left != math.MaxInt64 {
		t.Errorf("no cgroup: %d", left)
	}
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700),
			os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("memory/memory.limit_in_bytes", "1000\n")
	write("memory/memory.usage_in_bytes", "900\n")
	write("memory/memory.stat", "inactive_file 7\ntotal_inactive_file 300\n")
	if left := groupLeft(dir); left != 400 {
		t.Errorf("version 1: %d", left)
	}
	write("memory.max", "max\n")
	write("memory.current", "900\n")
	write("memory.stat", "active_file 7\ninactive_file 300\n")
	if left := groupLeft(dir); left != 400 {
		t.Errorf("version 2 without a limit: %d", left)
	}
	write("memory.max", "2000\n")
	if left := groupLeft(dir); left != 1400 {
		t.Errorf("version 2: %d", left)
	}
}
