package recorder

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/trace"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/internal/cputime"
	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/history"
)

// process is what a recorder runs in. Only the recorder's goroutine calls it, except for analyze.
type process interface {
	start(window time.Duration, bytes int) error // of the flight recorder
	stop()
	writeTo(w io.Writer) (int64, error)
	wall() time.Time // for readers; it may be set back
	// 0: not known
	cpu() time.Duration
	goroutines() int
	// what an event of a trace takes, and watching the CPU quota per second
	calibrate() (event, watching time.Duration)
	memory() int64
	counted() *cpuwatch.CPU // by the kernel, or nil
	analyze(
		ctx context.Context, hurry <-chan struct{}, head *history.Head, trace io.Reader,
	) (*history.Explained, time.Duration, error)
}

type runtimeProcess struct {
	recorder *trace.FlightRecorder
	samples  []metrics.Sample
	watch    *cpuwatch.Watch // while on; nil: no CPU quota
}

func newRuntime() *runtimeProcess {
	return &runtimeProcess{samples: []metrics.Sample{{Name: "/sched/goroutines:goroutines"}}}
}

func (p *runtimeProcess) start(window time.Duration, bytes int) error {
	if p.watch == nil {
		if w, _ := cpuwatch.Start(os.Getpid(), false); w.Quota() > 0 {
			p.watch = w
		} else {
			w.End()
		}
	}
	p.recorder = trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: window, MaxBytes: uint64(bytes)})
	return p.recorder.Start()
}

func (p *runtimeProcess) stop() {
	if p.watch != nil {
		p.watch.End()
		p.watch = nil
	}
	p.recorder.Stop()
}

func (p *runtimeProcess) writeTo(w io.Writer) (int64, error) { return p.recorder.WriteTo(w) }
func (p *runtimeProcess) wall() time.Time                    { return time.Now().Round(0) }
func (p *runtimeProcess) cpu() time.Duration                 { return cputime.Process() }

func (p *runtimeProcess) goroutines() int {
	metrics.Read(p.samples)
	return int(p.samples[0].Value.Uint64())
}

// The fastest round is the least disturbed. In a service an event takes longer than in this loop,
// because the caches hold other data.
const (
	calibrationRounds = 8
	calibrationEvents = 64
	serviceCaches     = 2
	watchCost         = 1500 * time.Microsecond // of a hundred reads of cpu.stat
)

func (p *runtimeProcess) calibrate() (event, watching time.Duration) {
	ctx, fastest := context.Background(), time.Duration(1<<62)
	for range calibrationRounds {
		start := time.Now()
		for range calibrationEvents {
			trace.Log(ctx, "evenkeel.calibration", "")
		}
		fastest = min(fastest, time.Since(start))
	}
	if p.watch != nil {
		watching = watchCost
	}
	return serviceCaches * fastest / calibrationEvents, watching
}

func (p *runtimeProcess) analyze(
	ctx context.Context, hurry <-chan struct{}, head *history.Head, trace io.Reader,
) (*history.Explained, time.Duration, error) {
	return analyze(ctx, hurry, head, trace)
}

func (p *runtimeProcess) counted() *cpuwatch.CPU {
	if p.watch == nil {
		return nil
	}
	return p.watch.Recent()
}

const analysisMemory = 64 << 20

// memory returns how many more bytes this process may take, by GOMEMLIMIT and its cgroup's limit.
func (p *runtimeProcess) memory() int64 {
	left := int64(math.MaxInt64)
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(used)
		left = limit - int64(used[0].Value.Uint64()-used[1].Value.Uint64())
	}
	return min(left, groupLeft("/sys/fs/cgroup"))
}

// groupLeft reads a cgroup of version 2 or 1. The kernel drops inactive pages of files first.
func groupLeft(folder string) int64 {
	for _, g := range []struct{ limit, used, stat, dropped string }{
		{"memory.max", "memory.current", "memory.stat", "inactive_file "},
		{"memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file "},
	} {
		limit, ok := number(filepath.Join(folder, g.limit))
		used, known := number(filepath.Join(folder, g.used))
		if !ok || !known {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(folder, g.stat))
		for line := range strings.Lines(string(stat)) {
			if text, ok := strings.CutPrefix(line, g.dropped); ok {
				if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
					used -= n
				}
			}
		}
		return limit - used
	}
	return math.MaxInt64
}

func number(file string) (n int64, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

const hashDigits = 12

// buildName names a build. A version has the commit. A hash is for builds without one, or with
// uncommitted changes.
func buildName(version string, hash func() string) string {
	if version != "" && version != "(devel)" && !strings.HasSuffix(version, "+dirty") {
		return version
	}
	return strings.TrimSpace(version + " executable " + cmp.Or(hash(), "unknown"))
}

func executableHash() string {
	path := "/proc/self/exe" // the running file, even if its path now names another
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return ""
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))[:hashDigits]
}

// meter measures a goroutine by the CPU time of its thread if that is known, because elapsed time
// is much longer on a busy machine.
type meter struct {
	wall   time.Time
	thread time.Duration
	known  bool
}

func (m *meter) start() {
	runtime.LockOSThread()
	m.wall = time.Now()
	m.thread, m.known = cputime.Thread()
}

func (m *meter) stop() (took time.Duration) {
	if now, ok := cputime.Thread(); ok && m.known {
		took = now - m.thread
	} else {
		took = time.Since(m.wall)
	}
	runtime.UnlockOSThread()
	return took
}
