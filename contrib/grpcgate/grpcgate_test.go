package grpcgate_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	testpb "google.golang.org/grpc/interop/grpc_testing"

	"evenkeel.dev/contrib/grpcgate"
	"evenkeel.dev/gcgate"
)

// collections is how many there are in a test, of both replicas.
const collections = 40

func turns(t *testing.T) gcgate.Turns {
	return gcgate.FileTurns{Path: filepath.Join(t.TempDir(), "turn")}
}

// TestCallsKeepAwayFromCollections: two replicas that are asked to collect at once, time and again, fail no
// call, and nearly none meets a collection.
func TestCallsKeepAwayFromCollections(t *testing.T) {
	gate := wide(turns(t))
	a, b := startReplica(t, grpcgate.Options{}, gate), startReplica(t, grpcgate.Options{}, gate)
	l := startLoad(t, watching(t, 4, a, b)...)
	collect(t, collections/2, a, b)
	l.end(t)
	report(t, l, a, b)
	for _, r := range []*replica{a, b} {
		if n := r.announced(); n < collections/2 {
			t.Errorf("%d of %d collections were announced", n, collections/2)
		}
		if strings.Contains(r.log.String(), "do not watch") {
			t.Error("the log names clients that watch")
		}
	}
	// Without the signal half of the calls that come during a collection come to who collects.
	if late, all := a.late.Load()+b.late.Load(), a.calls.Load()+b.calls.Load(); late*20 > all {
		t.Errorf("%d of %d calls met a collection", late, all)
	}
}

// report logs what came when.
func report(t *testing.T, l *load, replicas ...*replica) {
	var closing []time.Duration
	var after, late int64
	for _, r := range replicas {
		r.mu.Lock()
		closing = append(closing, r.closing...)
		r.mu.Unlock()
		after += r.after.Load()
		late += r.late.Load()
	}
	slices.Sort(closing)
	t.Logf("%d calls, %d failed; %d collections announced; from the announcement to the last new call %v (median), %v (longest); %d calls after the last Watch was sent, %d of them during a collection",
		l.sent.Load(), l.failed.Load(), len(closing), closing[len(closing)/2], closing[len(closing)-1], after, late)
}

// TestStreamsAreKept: streams last over collections, and no drain waits for them.
func TestStreamsAreKept(t *testing.T) {
	gate := wide(turns(t))
	a, b := startReplica(t, grpcgate.Options{}, gate), startReplica(t, grpcgate.Options{}, gate)
	clients := watching(t, 2, a, b)
	stop := make(chan struct{})
	var open, answered sync.WaitGroup
	for i := range 20 {
		answered.Add(1)
		open.Go(func() {
			s, err := clients[i%2].FullDuplexCall(context.Background())
			for n := 0; err == nil; n++ {
				if err = s.Send(&testpb.StreamingOutputCallRequest{}); err != nil {
					break
				}
				if _, err = s.Recv(); n == 0 {
					answered.Done()
				}
				select {
				case <-stop:
					s.CloseSend()
					return
				case <-time.After(time.Millisecond):
				}
			}
			t.Errorf("a stream broke: %v", err)
		})
	}
	answered.Wait()
	l := startLoad(t, clients...)
	collect(t, 5, a, b)
	l.end(t)
	close(stop)
	open.Wait()
	for _, r := range []*replica{a, b} {
		d := r.gate.Stats().Phases[gcgate.StateDraining]
		t.Logf("20 streams open: %d drains, %v on average, %v the longest", d.Count, d.Total/time.Duration(d.Count), d.Max)
		if d.Max >= gate.DrainTimeout {
			t.Errorf("a drain waited for streams: it took %v", d.Max)
		}
	}
}

// TestClientsThatDoNotWatch: they are served, beside collections, and named.
func TestClientsThatDoNotWatch(t *testing.T) {
	gate := gcgate.Options{Turns: turns(t), AnnounceTimeout: 10 * time.Second} // and the default for DrainTimeout
	a, b := startReplica(t, grpcgate.Options{}, gate), startReplica(t, grpcgate.Options{}, gate)
	clients := watching(t, 1, a, b)
	plain := dial(t, "", a)
	l := startLoad(t, append(clients, plain, plain)...)
	eventually(t, "calls of the plain client", func() bool { return a.calls.Load() > 0 })
	for n := 0; !strings.Contains(a.log.String(), "clients=[127.0.0.1]"); n++ {
		if n == 100 {
			t.Fatal("the client that does not watch is not named after 100 collections")
		}
		collect(t, 1, a)
	}
	collect(t, 2, a, b)
	l.end(t)
	if text := a.log.String(); strings.Count(text, "clients=") != 1 {
		t.Errorf("the client that does not watch is not named once:\n%s", text)
	}
	if strings.Contains(b.log.String(), "clients=") {
		t.Error("who watches is named")
	}
}

// TestNobodyWatches: collections take place without the signal, and the log says what to do.
func TestNobodyWatches(t *testing.T) {
	a := startReplica(t, grpcgate.Options{}, wide(turns(t)))
	l := startLoad(t, dial(t, "", a))
	eventually(t, "calls", func() bool { return a.calls.Load() > 10 })
	collect(t, 2, a)
	l.end(t)
	if n := a.announced(); n > 0 {
		t.Errorf("%d collections were announced to nobody", n)
	}
	if text := a.log.String(); !strings.Contains(text, "no client watches") || !strings.Contains(text, "healthCheckConfig") {
		t.Errorf("the log does not say what to do:\n%s", text)
	}
}
