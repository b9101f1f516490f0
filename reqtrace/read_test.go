package reqtrace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/reqtrace/region"
)

// traced returns the trace of a server under n requests by each of c clients.
func traced(t testing.TB, h http.Handler, c, n int) []byte {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range c {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for range n {
				req, err := http.NewRequest("GET", srv.URL, nil)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("X-Request-Id", "the id")
				res, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
	wg.Wait()
	trace.Stop()
	return buf.Bytes()
}

// regions returns the trace of n requests that do nothing.
func regions(t testing.TB, n int) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	served := make(chan bool)
	go func() {
		defer close(served)
		for range n {
			r := region.Start(context.Background(), "id")
			served <- true
			r.End()
		}
	}()
	for range served {
	}
	trace.Stop()
	return buf.Bytes()
}

// undivided returns a trace that is of no use where its end is missing: the runtime divides one
// each second after its start, and what is whole of it would be read.
func undivided(t testing.TB) []byte {
	t.Helper()
	for {
		begin := time.Now()
		if b := regions(t, 40); time.Since(begin) < time.Second {
			return b
		}
	}
}

var sink atomic.Pointer[[]byte]

// work does something of everything.
func work() http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 50 {
			b := make([]byte, 10000)
			sink.Store(&b)
		}
		mu.Lock()
		time.Sleep(50 * time.Microsecond)
		mu.Unlock()
		done := make(chan bool)
		go func() { done <- true }()
		<-done
		_, _ = io.WriteString(w, "hello")
	})
}

// TestRead: all requests of a real server are found, with and without regions; the parts of each
// sum to its time, and hardly any is unknown.
func TestRead(t *testing.T) {
	const clients, each = 4, 50
	for name, h := range map[string]http.Handler{"turns": work(), "regions": region.Middleware(work())} {
		t.Run(name, func(t *testing.T) {
			b := traced(t, h, clients, each)
			n, ids, cut := 0, 0, 0
			var total Parts
			last := time.Duration(0)
			for r, err := range Read(t.Context(), bytes.NewReader(b), Options{}) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Cut != "" {
					cut++
					continue
				}
				n++
				if r.ID == "the id" {
					ids++
				}
				check(t, r)
				if r.End < last {
					t.Errorf("ended at %v, after one that ended at %v", r.End, last)
				}
				last = r.End
				total.addAll(r.Parts)
			}
			if n+cut < clients*each || n < clients*(each-1) || n > clients*each {
				t.Errorf("%d requests, %d cut", n, cut)
			}
			if name == "regions" && ids != n {
				t.Errorf("%d ids of %d", ids, n)
			}
			if unknown := total.Of(CauseUnknown); unknown > total.Total()/1000 {
				t.Errorf("unknown: %v of %v", unknown, total.Total())
			}
			for _, c := range []Cause{CauseRunning, CauseLock, CauseSleep, CauseSyscall} {
				if total.Of(c) == 0 {
					t.Errorf("no %v", c)
				}
			}
		})
	}
}

// check: parts and path cover the request, without a gap.
func check(t testing.TB, r Request) {
	t.Helper()
	if r.Parts.Total() != r.Duration() {
		t.Fatalf("parts of %v, request of %v: %+v", r.Parts.Total(), r.Duration(), r)
	}
	for c, d := range r.Parts.All() {
		if d < 0 {
			t.Fatalf("%v: %v", c, d)
		}
	}
	at := r.Start
	for _, tile := range r.Path {
		if tile.Start < at || tile.End <= tile.Start {
			t.Fatalf("tile %+v after %v", tile, at)
		}
		at = tile.End
	}
	if at > r.End {
		t.Fatalf("the path ends at %v, the request at %v", at, r.End)
	}
}

func TestAnalyze(t *testing.T) {
	const clients, each = 4, 100
	b := traced(t, region.Middleware(work()), clients, each)
	r, err := Analyze(t.Context(), bytes.NewReader(b), Options{Slowest: 5})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Marked || r.Procs == 0 || r.Requests+r.CutStart+r.CutEnd < clients*each || len(r.Slowest) != 5 {
		t.Errorf("%+v", r)
	}
	n, sum := 0, time.Duration(0)
	for i, band := range r.Bands {
		n += band.Requests
		sum += band.Mean * time.Duration(band.Requests)
		if band.Min > band.Mean || band.Mean > band.Max || i > 0 && band.Min < r.Bands[i-1].Max {
			t.Errorf("%+v", band)
		}
		if d := band.Mean - band.Parts.Total(); d < 0 || d > time.Duration(numCauses) {
			t.Errorf("%s: parts of %v, mean %v", band.Name, band.Parts.Total(), band.Mean)
		}
	}
	if own := r.Total.Total() - r.Total.Of(CauseMachine); n != r.Requests || own-sum < 0 || own-sum > time.Duration(n) {
		t.Errorf("bands of %d requests and %v, in all %d and %v", n, sum, r.Requests, r.Total.Total())
	}
	for i, q := range r.Slowest {
		check(t, q)
		if len(q.Path) == 0 || i > 0 && q.own() > r.Slowest[i-1].own() {
			t.Errorf("slowest %d: %+v", i, q)
		}
	}
	if got, want := r.Slowest[0].own(), r.CCDF[len(r.CCDF)-1].Time; got != want {
		t.Errorf("the slowest takes %v, the distribution ends at %v", got, want)
	}
}

func TestErrors(t *testing.T) {
	whole := undivided(t)
	none := func() []byte {
		var buf bytes.Buffer
		if err := trace.Start(&buf); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		trace.Stop()
		return buf.Bytes()
	}()
	for name, c := range map[string]struct {
		trace []byte
		want  string
	}{
		"empty": {nil, "not an execution trace of Go: the file is empty; take one with"},
		"text":  {[]byte("What is this, and what is it for?"), "not an execution trace of Go: bad file format"},
		"html": {
			[]byte("\n<!DOCTYPE html>not found</html> and so on and so on"),
			"not an execution trace of Go: it is HTML",
		},
		"json":      {[]byte(`{"traceEvents": []}`), "not an execution trace of Go: it is JSON"},
		"heap dump": {[]byte("go1.7 heap dump\n and so on"), "not an execution trace of Go: it is a heap dump"},
		"gzip":      {[]byte("\x1f\x8b\x08\x00 and so on"), "decompress it first"},
		"profile":   {[]byte("\n\x04\x08\x01\x10\x02\n\x04\x08\x03\x10\x04 and so on"), "it is a profile of pprof"},
		"of a CPU": {
			[]byte("\x48\xe0\x99\x80\xeb\x81\xee\x9f\xf5\x18\n\x04\x08\x01\x10\x02\n\x04\x08\x03\x10\x04P and so on"),
			"it is a profile of pprof",
		},
		"of a heap": {
			[]byte("Z\x04\x08\x01\x10\x02\x60\x80\x80\x20\n\x04\x08\x03\x10\x04 and so on"),
			"it is a profile of pprof",
		},
		"no second": {whole[:200], "within the first 200 bytes"},
		"header":    {whole[:16], "the trace is empty; take one with"}, // of a program that was killed
		"future": {
			append([]byte("go 1.99 trace\x00\x00\x00"), whole[16:]...),
			"unsupported trace version go 1.99: a newer Go wrote it: use a newer version",
		},
		"truncated": {whole[:len(whole)*2/3], "within the first"},
		"corrupt": {
			append(bytes.Clone(whole[:len(whole)/2]), bytes.Repeat([]byte{0xff}, len(whole)/2)...),
			"within the first",
		},
		"none": {none, "wrap the handlers with region.Middleware"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Analyze(t.Context(), bytes.NewReader(c.trace), Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
			for _, rerr := range Read(t.Context(), bytes.NewReader(c.trace), Options{}) {
				if rerr != nil && rerr.Error() != err.Error() {
					t.Errorf("Read: %v, Analyze: %v", rerr, err)
				}
			}
		})
	}
}

// TestReaderFails: a reader that fails, as one of gzip does where that is cut off, has a trace that
// is cut off, and no empty one.
func TestReaderFails(t *testing.T) {
	for _, head := range []string{"", "go ", "go 1.26 trace"} {
		_, err := Analyze(t.Context(), io.MultiReader(strings.NewReader(head), iotest.ErrReader(io.ErrUnexpectedEOF)),
			Options{})
		if !errors.Is(err, ErrBroken) || !errors.Is(err, io.ErrUnexpectedEOF) ||
			strings.Contains(err.Error(), "empty") {
			t.Errorf("%q: %v", head, err)
		}
	}
}

// TestFlightRecorder: what a flight recorder keeps is a trace as any other.
func TestFlightRecorder(t *testing.T) {
	fr := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	if err := fr.Start(); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		region.Start(t.Context(), "").End()
	}
	var b bytes.Buffer
	_, err := fr.WriteTo(&b)
	fr.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Analyze(t.Context(), &b, Options{}); err != nil || r.CutStart+r.Requests+r.CutEnd < 50 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSlowest(t *testing.T) {
	for _, n := range []int{-1, 1001} {
		var oe *evenkeel.OptionError
		if _, err := Analyze(t.Context(), strings.NewReader(""), Options{Slowest: n}); !errors.As(err, &oe) ||
			oe.Option != "Slowest" || !strings.Contains(err.Error(), "reqtrace.Options.Slowest: ") {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// stalling gives the bytes of a trace, and then nothing until it is released.
type stalling struct {
	bytes.Reader
	stalled  chan struct{} // closed when it has nothing more to give
	release  chan struct{}
	returned chan struct{} // closed when that Read returns
}

func newStalling(b []byte) *stalling {
	s := &stalling{stalled: make(chan struct{}), release: make(chan struct{}), returned: make(chan struct{})}
	s.Reset(b)
	return s
}

func (s *stalling) Read(p []byte) (int, error) {
	if s.Len() > 0 {
		return s.Reader.Read(p)
	}
	close(s.stalled) // once: after it, no Read may begin
	<-s.release
	defer close(s.returned)
	return 0, io.ErrUnexpectedEOF
}

// soon fails the test if what should return at once hangs.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s hangs", what)
	}
}

// TestCancel: a reader that gives nothing more does not hold Analyze up, and is not read again.
func TestCancel(t *testing.T) {
	s := newStalling([]byte("go 1.26 "))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-s.stalled; cancel() }()
	soon(t, "Analyze", func() {
		if _, err := Analyze(ctx, s, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	close(s.release)
	<-s.returned
}

// TestStopWhileStalled: nor does it hold up who leaves the loop over requests.
func TestStopWhileStalled(t *testing.T) {
	s := newStalling([]byte("go 1.26 "))
	_, stop := readAhead(t.Context(), &source{r: s})
	<-s.stalled
	soon(t, "stop", stop)
	close(s.release)
	<-s.returned
}

// TestBreakLeavesTheReader: after the loop no Read begins.
func TestBreakLeavesTheReader(t *testing.T) {
	s := &source{r: strings.NewReader("text")}
	if s.stop() {
		t.Error("a Read is under way")
	}
	if n, err := s.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("%d bytes were read, %v", n, err)
	}
}

// TestBreak: a loop over requests may be left.
func TestBreak(t *testing.T) {
	b := traced(t, region.Middleware(work()), 2, 20)
	n := 0
	for range Read(t.Context(), bytes.NewReader(b), Options{}) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d requests", n)
	}
}

// FuzzRead: whatever the bytes, an answer or an error, and no request whose parts do not fit; and
// Analyze says the same.
func FuzzRead(f *testing.F) {
	f.Add(regions(f, 2))
	f.Add([]byte("go 1.26 trace\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, broken, failed := 0, false, false
		for r, err := range Read(t.Context(), bytes.NewReader(b), Options{}) {
			if err == nil && r.Cut == "" {
				whole++
				check(t, r)
			}
			broken = broken || errors.Is(err, ErrBroken)
			failed = failed || err != nil
		}
		if whole > 0 && broken {
			failed = false // the report is of what was read
		}
		r, err := Analyze(t.Context(), bytes.NewReader(b), Options{})
		if failed != (err != nil) || err == nil && (r.Requests != whole || broken != (r.Broken != "")) {
			t.Errorf("Read: %d requests, failed %v; Analyze: %+v, %v", whole, failed, r, err)
		}
	})
}
