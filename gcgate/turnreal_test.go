package gcgate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"evenkeel.dev/gcgate/capacity"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

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
	Collections, Alone uint64
	Held, Length       time.Duration
	Late               time.Duration // at most, waking up from a millisecond of sleep
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
					sum.Collections, sum.Alone, sum.Late)
				if sum.Collections == 0 {
					t.Fatal("no collection")
				}
				follows := load > 1 || held > 0.8*want && held < 1.1*want
				if follows && sum.Alone == 0 {
					return
				}
				if sum.Late <= realStall {
					t.Fatalf("%d of %d collections had no turn; it was held for %.3f of the time, the formula "+
						"says %.3f", sum.Alone,
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
		sum.Alone += s.Alone
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
	s.Alone, s.Held, s.Length = stats.WithoutTurn, stats.Turn.Held.Total, time.Since(began)
	for _, n := range stats.Collections {
		s.Collections += n
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		panic(err)
	}
	os.Exit(0)
}
