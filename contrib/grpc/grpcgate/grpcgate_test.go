package grpcgate_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"evenkeel.dev/gcgate"
)

const collections = 40

func turns(t *testing.T) gcgate.Turns {
	return gcgate.FileTurns{Path: filepath.Join(t.TempDir(), "turn")}
}

// TestCallsKeepAwayFromCollections has two replicas collect at once, time and again. No call fails,
// and nearly none overlaps a collection.
func TestCallsKeepAwayFromCollections(t *testing.T) {
	gate := wide(turns(t))
	a, b := startReplica(t, patient, gate), startReplica(t, patient, gate)
	l := startLoad(t, watching(t, 4, a, b)...)
	called(t, 4, a, b)
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
	wantFollowed(t, 4, a, b)
}

func report(t *testing.T, l *load, replicas ...*replica) {
	var closing []time.Duration
	var after int64
	var met uint64
	for _, r := range replicas {
		r.mu.Lock()
		closing = append(closing, r.closing...)
		r.mu.Unlock()
		after += r.after.Load()
		met += r.met()
	}
	slices.Sort(closing)
	t.Logf("%d calls, %d failed; %d collections announced; from the announcement to the last new call %v (median), "+
		"%v (longest); %d calls after the last Watch was sent, %d met a collection",
		l.sent.Load(), l.failed.Load(), len(closing), closing[len(closing)/2], closing[len(closing)-1], after, met)
}

// TestStreamsAreKept tests that streams last over collections, and that no drain waits for them.
func TestStreamsAreKept(t *testing.T) {
	gate := wide(turns(t))
	a, b := startReplica(t, patient, gate), startReplica(t, patient, gate)
	clients := watching(t, 2, a, b)
	l := startLoad(t, clients...)
	called(t, 2, a, b)
	var before gcgate.Duration
	drains := func() (mean time.Duration) {
		t.Helper()
		collect(t, 5, a, b)
		x, y := a.gate.Stats().Phases[gcgate.StateDraining], b.gate.Stats().Phases[gcgate.StateDraining]
		now := gcgate.Duration{Count: x.Count + y.Count, Total: x.Total + y.Total}
		if longest := max(x.Max, y.Max); longest >= gate.DrainTimeout {
			t.Errorf("a drain waited for streams: it took %v", longest)
		}
		mean = (now.Total - before.Total) / time.Duration(now.Count-before.Count)
		before = now
		return mean
	}
	without := drains()
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
	with := drains()
	l.end(t)
	close(stop)
	open.Wait()
	t.Logf("a drain took %v on average, and %v with 20 streams open", without, with)
}

// TestClientsThatDoNotWatch tests that the first collection names them, and no client that watches.
func TestClientsThatDoNotWatch(t *testing.T) {
	gate := gcgate.Options{Turns: turns(t), AnnounceTimeout: 10 * time.Second}
	a, b := startReplica(t, patient, gate), startReplica(t, patient, gate)
	l := startLoad(t, watching(t, 1, a, b)...)
	called(t, 1, a, b)
	plain := dial(t, "", a)
	past := startLoad(t, plain, plain)
	was := a.calls.Load()
	eventually(t, "calls of the plain client", func() bool { return a.calls.Load() > was+100 })
	var collected chan struct{}
	begin := func() {
		collected = make(chan struct{})
		go func(over chan<- struct{}) {
			defer close(over)
			collect(t, 1, a)
		}(collected)
	}
	begin()
	eventually(t, "the gate says who ignores the drain", func() bool {
		text := a.log.String()
		if strings.Contains(text, "requests keep coming") && strings.Contains(text, "do not watch health (127.0.0.1)") {
			return true
		}
		select {
		case <-collected: // calls that the machine kept back look like silence
			begin()
		default:
		}
		return false
	})
	past.end(t)
	<-collected
	if n := a.gate.Stats().IgnoredDrains; n != 1 {
		t.Errorf("%d drains were ignored, want 1", n)
	}
	collect(t, 2, a, b)
	l.end(t)
	if text := a.log.String(); strings.Count(text, "clients=[127.0.0.1]") != 1 {
		t.Errorf("the client that does not watch is not named once:\n%s", text)
	}
	if strings.Contains(b.log.String(), "clients=") {
		t.Error("who watches is named")
	}
}

// TestNobodyWatches tests that collections go on without the signal, and that the log says what to
// do.
func TestNobodyWatches(t *testing.T) {
	a := startReplica(t, patient, wide(turns(t)))
	l := startLoad(t, dial(t, "", a))
	eventually(t, "calls", func() bool { return a.calls.Load() > 10 })
	collect(t, 2, a)
	l.end(t)
	if n := a.announced(); n > 0 {
		t.Errorf("%d collections were announced to nobody", n)
	}
	if text := a.log.String(); !strings.Contains(text, "no client watches") ||
		!strings.Contains(text, "healthCheckConfig") {
		t.Errorf("the log does not say what to do:\n%s", text)
	}
}

// TestWhenAllAreAway tests that calls fail with UNAVAILABLE, except those that wait for a server.
func TestWhenAllAreAway(t *testing.T) {
	gate := wide(turns(t))
	a, b := startReplica(t, patient, gate), startReplica(t, patient, gate)
	c := watching(t, 1, a, b)[0]
	for _, r := range []*replica{a, b} {
		if err := r.gate.Stop(t.Context()); err != nil {
			// Its first peer may hear only now that this process is ready.
			t.Fatal(err)
		}
		if err := r.signal.Drain(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "calls fail", func() bool {
		_, err := c.EmptyCall(t.Context(), &testpb.Empty{})
		return status.Code(err) == codes.Unavailable
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.EmptyCall(ctx, &testpb.Empty{},
		grpc.WaitForReady(true)); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call that waits for a server got %v while there is none, want its deadline", err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := c.EmptyCall(context.Background(), &testpb.Empty{}, grpc.WaitForReady(true))
		waited <- err
	}()
	if err := a.signal.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("a call that waits for a server got %v", err)
	}
	if err := b.signal.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}
