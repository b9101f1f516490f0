package cpuwatch

import (
	"os"
	"testing"
	"time"
)

// TestWatch watches this process until the kernel has counted running of one of its threads.
func TestWatch(t *testing.T) {
	w, err := Start(os.Getpid(), true)
	if err != nil {
		t.Log("the quota is not known here: ", err)
	}
	for x, begin := 1, time.Now(); time.Since(begin) < 50*time.Millisecond; { // gives the kernel something to count
		x ^= x << 13
	}
	recent := w.Recent()
	cpu := w.End()
	n := len(cpu.Moments)
	if k := len(recent.Moments); k < 2 || k >= n || !recent.Moments[k-1].At.Equal(cpu.Moments[k-1].At) ||
		recent.Quota != w.Quota() {
		t.Errorf("%d of %d moments are recent", k, n)
	}
	if n < 2 || !cpu.Moments[n-1].At.After(cpu.Moments[0].At) || cpu.Grouped != (err == nil) {
		t.Fatalf("%d moments, %+v", n, cpu)
	}
	ran := map[int64]time.Duration{}
	for i, m := range cpu.Moments {
		for _, x := range m.Threads {
			if x.Ran < ran[x.ID] || i > 0 && m.At.Before(cpu.Moments[i-1].At) {
				t.Errorf("%+v after %v", x, ran[x.ID])
			}
			ran[x.ID] = x.Ran
		}
	}
	if len(ran) == 0 {
		t.Error("no thread has run")
	}
	if _, ok := parseSchedstat(7, "12"); ok {
		t.Error("half a line")
	}
}

// TestWatchLong tests that a watch keeps the last moments.
func TestWatchLong(t *testing.T) {
	w, _ := Start(os.Getpid(), false)
	defer w.End()
	for range 2 * fewMoments {
		w.note()
	}
	first, last := w.cpu.Moments[0], w.cpu.Moments[len(w.cpu.Moments)-1]
	if n := len(w.cpu.Moments); n > fewMoments || n < fewMoments/2 || !last.At.After(first.At) {
		t.Errorf("%d moments", n)
	}
}

// TestWatchGone tests that a process may end while it is watched.
func TestWatchGone(t *testing.T) {
	w, err := Start(1<<30, true)
	if err == nil {
		t.Error("a process that does not exist has a quota")
	}
	if cpu := w.End(); cpu.Grouped || len(cpu.Moments) < 2 {
		t.Errorf("%+v", cpu)
	}
}
