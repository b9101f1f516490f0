package loadgen

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/internal/leaks"
)

// patience is how long anything may take on a busy machine.
const patience = time.Minute

func TestMain(m *testing.M) { leaks.Main(m) }

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// serveRaw runs handle for each connection to a listener and returns the listener's address.
// The connection is closed when handle returns, or when the test ends.
func serveRaw(t testing.TB, handle func(c *net.TCPConn, br *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open, ended := map[net.Conn]bool{}, false
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			if ended {
				c.Close()
			}
			mu.Unlock()
			wg.Go(func() {
				defer func() {
					mu.Lock()
					delete(open, c)
					mu.Unlock()
					c.Close()
				}()
				handle(c.(*net.TCPConn), bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		ended = true
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// okAnswer is the least that a server can say.
const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// skipRequest reads one request without allocating; false at the end of the connection.
func skipRequest(br *bufio.Reader) bool {
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return false
		}
		if len(line) <= 2 {
			return true
		}
	}
}

// run is Run for options that must be right, and holds every result to its own sums.
func run(t testing.TB, o Options) *Result {
	t.Helper()
	return runContext(t, t.Context(), o)
}

func runContext(t testing.TB, ctx context.Context, o Options) *Result {
	t.Helper()
	r, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	var byStatus, byClass, waited, unsent, seriesCount, seriesFailed int64
	for _, n := range r.Statuses {
		byStatus += n
	}
	if o.Call != nil {
		byStatus = r.Answered // a call has no status
	}
	for _, f := range r.Failures {
		byClass += f.Count
		if f.Class.waited() {
			waited += f.Count
		}
		if f.Class == ClassUnsent {
			unsent += f.Count
		}
	}
	for _, p := range r.Series.Points {
		seriesCount += p.Count
		seriesFailed += p.Failed
	}
	var classAnswered, classFailed, classLatency int64
	for i := range r.Classes {
		c := &r.Classes[i]
		classAnswered += c.Answered
		classFailed += c.Failed
		classLatency += c.Latency.Count()
	}
	type sum struct {
		what      string
		got, want int64
	}
	sums := []sum{
		{"sum of Statuses", byStatus, r.Answered},
		{"sum of Failures", byClass, r.Failed},
		{"latencies", r.Latency.Count(), r.Answered + waited},
		{"answers in the series", seriesCount, r.Answered},
		{"failures in the series", seriesFailed, r.Failed},
	}
	if len(r.Classes) > 0 {
		sums = append(sums, sum{"answers of the classes", classAnswered, r.Answered},
			sum{"failures of the classes", classFailed, r.Failed},
			sum{"latencies of the classes", classLatency, r.Latency.Count()})
	}
	if o.Rate > 0 {
		sums = append(sums, sum{"service times", r.Service.Count(), r.Latency.Count() - unsent})
	}
	for _, s := range sums {
		if s.got != s.want {
			t.Errorf("%s: %d, want %d", s.what, s.got, s.want)
		}
	}
	return r
}

// class returns how many requests failed so.
func class(r *Result, c Class) int64 {
	for _, f := range r.Failures {
		if f.Class == c {
			return f.Count
		}
	}
	return 0
}

// wantAll fails the test unless n requests were answered with 200 and none failed.
func wantAll(t testing.TB, r *Result, n int64) {
	t.Helper()
	if r.Answered != n || r.Failed != 0 || r.Statuses[200] != n || r.Interrupted {
		t.Errorf("answered %d (%v), failed %d %v, interrupted %v; want %d answers of 200",
			r.Answered, r.Statuses, r.Failed, r.Failures, r.Interrupted, n)
	}
}
