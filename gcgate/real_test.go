package gcgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"evenkeel.dev/gcgate/capacity"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

// TestRealRuntime lets a gate collect the garbage of this very process.
func TestRealRuntime(t *testing.T) {
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	limit := debug.SetMemoryLimit(-1)
	for range 3 {
		g, err := Start(t.Context(), Options{Policy: PolicyThrough, Jitter: -1, MaxTriggerBytes: 32 * mib})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Start(t.Context(), Options{}); !errors.Is(err, ErrRunning) {
			t.Errorf("second Start: %v, want ErrRunning", err)
		}
		if p := newGoRuntime().GOGC(); p != -1 {
			t.Errorf("the gate is in charge, and GOGC is read as %d", p)
		}
		if err := g.Collect(t.Context()); err != nil {
			t.Error(err)
		}
		litter(t, g)
		s := g.Stats()
		if s.Escaped > 0 || s.Collections[ReasonRequested] != 1 {
			t.Errorf("stats: %+v", s)
		}
		g.Stop(context.Background())
		g.Stop(context.Background())
		if err := g.Collect(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("Collect after Stop: %v", err)
		}
		if p := debug.SetGCPercent(100); p != 100 {
			t.Errorf("GOGC after Stop is %d, before it was 100", p)
		}
		if l := debug.SetMemoryLimit(-1); l != limit {
			t.Errorf("memory limit after Stop is %d, before it was %d", l, limit)
		}
	}
}

// TestRealRuntimeSpendsMemory raises GOGC of this very process, and gives it back.
func TestRealRuntimeSpendsMemory(t *testing.T) {
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	now := func() uint64 {
		gogc := named("/gc/gogc:percent")
		metrics.Read(gogc)
		return gogc[0].Value.Uint64()
	}
	g, err := Start(t.Context(), Options{Policy: PolicyMemory, MemoryLimitBytes: 2 << 30})
	if err != nil {
		t.Fatal(err)
	}
	var keep [64][]byte
	before := g.Stats()
	// until it has seen that the live heap does not grow
	for end := time.Now().Add(time.Minute); g.Stats().OverlappedOther == before.OverlappedOther || now() < 150; {
		ticket := g.Enter()
		for i := range keep {
			keep[i] = make([]byte, 256<<10)
		}
		ticket.Exit()
		if time.Now().After(end) {
			t.Fatalf("in a minute GOGC was not raised, it is %d: %+v", now(), g.Stats())
		}
	}
	if s := g.Stats(); s.Escaped > 0 || len(s.Collections) > 0 {
		t.Errorf("the gate took charge: %+v", s)
	}
	if err := g.Stop(t.Context()); err != nil || now() != 100 {
		t.Errorf("after Stop, %v, GOGC is %d, it was 100", err, now())
	}
	runtime.KeepAlive(keep)
}

// litter makes garbage until the gate has collected three times. Between two looks of the gate
// it makes 8 MiB, and none while the gate collects: however late the machine lets the gate run,
// the heap cannot outgrow the safety limit, 75 MiB above the hard threshold.
func litter(t *testing.T, g *Gate) {
	var keep [64][]byte
	serving := func() bool { return g.State() == StateServing }
	end := time.Now().Add(time.Minute)
	for {
		s := g.Stats()
		if s.Collections[ReasonTrigger]+s.Collections[ReasonHard] >= 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no three collections in a minute: %+v", s)
		}
		made := 0
		for ; made < 8*mib/(64<<10) && serving(); made++ {
			keep[made%len(keep)] = make([]byte, 64<<10)
		}
		for (made > 0 && g.Stats().Heap == s.Heap || !serving()) && time.Now().Before(end) {
			time.Sleep(100 * time.Microsecond)
		}
	}
	runtime.KeepAlive(keep)
}

const turnReplica = "GCGATE_TEST_TURN_REPLICA"

// Of the replicas of TestSoakFourProcesses: their heaps are none, their turns are real.
const (
	realReplicas = 4
	realLive     = 100 * mib
	realMark     = 100 * time.Millisecond
	realStall    = 50 * time.Millisecond // of a machine on which nothing can be judged
	realTries    = 3
)

// realReplica is what a replica has seen.
type realReplica struct {
	Collections, WithoutTurn uint64
	Held, Length             time.Duration
	Late                     time.Duration // at most, waking up from a millisecond of sleep
}

// TestSoakFourProcesses has four processes share one turn by a file, at nine tenths of its capacity
// and at one and a half: no collection goes without a turn, and up to nine tenths it is held for as
// long as the formula says. A machine that stalls makes heaps grow without anybody to see it, so
// a try that fails there does not count. All of it is time, which a machine with other work does
// not keep: make soak runs it.
func TestSoakFourProcesses(t *testing.T) {
	if text := os.Getenv(turnReplica); text != "" {
		beReplica(text)
	}
	if testutil.Soak() == 0 {
		t.Skip("needs a machine without other work: make soak runs it")
	}
	needsFlock(t)
	for _, load := range []float64{0.9, 1.5} {
		t.Run(fmt.Sprint(load), func(t *testing.T) {
			for range realTries {
				want, held, sum := fourProcesses(t, load)
				t.Logf("want %.2f, held %.3f, %d collections, %d without a turn, late by %v", want, held,
					sum.Collections, sum.WithoutTurn, sum.Late)
				if sum.Collections == 0 {
					t.Fatal("no collection")
				}
				follows := load > 1 || held > 0.8*want && held < 1.1*want
				if follows && sum.WithoutTurn == 0 {
					return
				}
				if sum.Late <= realStall {
					t.Fatalf("%d of %d collections had no turn; it was held for %.3f of the time, the formula "+
						"says %.3f", sum.WithoutTurn,
						sum.Collections, held, want)
				}
			}
			t.Skipf("needs a machine that does not stall for %v: it did in each of %d tries", realStall, realTries)
		})
	}
}

// fourProcesses runs them for some seconds. held is the share of the time for which the turn was
// held.
func fourProcesses(t *testing.T, load float64) (want, held float64, sum realReplica) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "turn")
	type running struct {
		cmd   *exec.Cmd
		stdin io.Closer
		out   *json.Decoder
	}
	var group []running
	for range realReplicas {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSoakFourProcesses$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%g,%s", turnReplica, load, path))
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait() // it is asked to end below, and ends with this process in any case
		defer stdin.Close()
		group = append(group, running{cmd, stdin, json.NewDecoder(stdout)})
		time.Sleep(realMark) // one after the other, as a rollout starts them
	}
	time.Sleep(5 * time.Second) // what is measured; the longer, the more exactly
	for _, r := range group {
		r.stdin.Close()
	}
	var meanHeld time.Duration
	for _, r := range group {
		var s realReplica
		if err := r.out.Decode(&s); err != nil {
			t.Fatalf("a replica has said nothing that can be read: %v", err)
		}
		held += s.Held.Seconds() / s.Length.Seconds()
		meanHeld += s.Held
		sum.Collections += s.Collections
		sum.WithoutTurn += s.WithoutTurn
		sum.Late = max(sum.Late, s.Late)
	}
	if sum.Collections > 0 {
		meanHeld /= time.Duration(sum.Collections)
	}
	room := capacity.Room(realLive, 2*realLive, 0.1)
	return capacity.TurnLoad(realRate(load), room, meanHeld, 1), held, sum
}

// realRate is what all replicas allocate together.
func realRate(load float64) float64 {
	return load * capacity.Room(realLive, 2*realLive, 0.1) / realMark.Seconds()
}

// beReplica runs a gate over a heap that is none until standard input ends.
func beReplica(text string) {
	var load float64
	var path string
	if _, err := fmt.Sscanf(text, "%g,%s", &load, &path); err != nil {
		panic(err)
	}
	h := gcgatetest.NewHeap()
	h.Live, h.Mark = realLive, realMark
	serving := realRate(load) / (realReplicas - min(load, 1)) // the others carry what one does not serve that collects
	g, err := Start(context.Background(), Options{
		Policy: PolicyThrough, Turns: FileTurns{Path: path}, Replicas: realReplicas, MinTriggerBytes: 32 * mib,
		MaxTriggerBytes: 32 * mib,
		Collector:       h, Logger: slog.New(slog.DiscardHandler),
		OnEvent: func(e Event) {
			h.Do(func() {
				if h.Rate = serving; e.State == StateCollecting {
					h.Rate = 0
				}
			})
		},
	})
	if err != nil {
		panic(err)
	}
	h.Do(func() { h.Rate = serving })
	began := time.Now()
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	var s realReplica
	for open := true; open; {
		slept := time.Now()
		select {
		case <-ended:
			open = false
		case <-time.After(time.Millisecond):
			s.Late = max(s.Late, time.Since(slept))
		}
	}
	stats := g.Stats()
	s.WithoutTurn, s.Held, s.Length = stats.WithoutTurn, stats.Turn.Held.Total, time.Since(began)
	for _, n := range stats.Collections {
		s.Collections += n
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		panic(err)
	}
	os.Exit(0)
}
