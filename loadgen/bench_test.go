package loadgen

import (
	"bufio"
	"context"
	"net"
	"runtime"
	"testing"
	"time"
)

// bareServer answers each request with the least there is, without allocating.
func bareServer(t testing.TB) string {
	answer := []byte(okAnswer)
	return serveRaw(t, func(c *net.TCPConn, br *bufio.Reader) {
		for skipRequest(br) {
			c.Write(answer)
		}
	})
}

// BenchmarkClosedLoop is b.N requests to a server in the same process: its allocations are in
// the figure too, and there are none in its steady state.
func BenchmarkClosedLoop(b *testing.B) {
	addr := bareServer(b)
	b.ReportAllocs()
	b.ResetTimer()
	wantAll(b, run(b, Options{Targets: []Target{{URL: "http://" + addr}}, Requests: b.N, Connections: min(b.N, 16)}),
		int64(b.N))
}

// BenchmarkOpenLoop is b.N requests at 20,000/s, so its time is given; see its allocations.
func BenchmarkOpenLoop(b *testing.B) {
	addr := bareServer(b)
	b.ReportAllocs()
	b.ResetTimer()
	wantAll(b, run(b, Options{Targets: []Target{{URL: "http://" + addr}}, Requests: b.N, Rate: 20000}), int64(b.N))
}

func BenchmarkTransport(b *testing.B) {
	b.ReportAllocs()
	wantAll(b, run(b, Options{
		Targets: []Target{{URL: "http://h/"}}, Requests: b.N, Connections: min(b.N, 16),
		Transport: instant{},
	}), int64(b.N))
}

// In their steady state the loops over the built-in client allocate nothing for a request:
// the measured phase is compared with one of ten times the requests.
func TestLoopsAllocate(t *testing.T) {
	addr := bareServer(t)
	for _, o := range []Options{
		{Connections: 4},
		{Connections: 4, Rate: 10000},
		{Connections: 1, Rate: 1e6}, // always a backlog
	} {
		o.Targets, o.Warmup = []Target{{URL: "http://" + addr}}, 2*time.Millisecond
		allocated := func(requests int) uint64 {
			var before, after runtime.MemStats
			o.Requests, o.OnMeasure = requests, func() { runtime.ReadMemStats(&before) }
			answers := 0
			o.OnLatency = func(time.Time, time.Duration) { // the last, before the series is encoded
				if answers++; answers == requests {
					runtime.ReadMemStats(&after)
				}
			}
			r, err := Run(context.Background(), o)
			if err != nil || r.Answered != int64(requests) {
				t.Fatalf("%v, %+v", err, r)
			}
			return after.Mallocs - before.Mallocs
		}
		few, many := allocated(200), allocated(4200)
		t.Logf("rate %v: %d allocations for 200 requests, %d for 4,200", o.Rate, few, many)
		// One for every second request would show. The bins of the series, as many as the run
		// has fiftieths of a second, and the runtime's own are far fewer, however slow the machine is.
		if many > few+2000 {
			t.Errorf("rate %v: %d allocations for 200 requests, %d for 4,200", o.Rate, few, many)
		}
	}
}
