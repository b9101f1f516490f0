package reqtrace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	runtimetrace "runtime/trace"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev"
)

// createAs has goroutine by create g, which begins with a function.
func (s *script) createAs(by, g int, function string) *script {
	return s.move(by, g, trace.GoNotExist, trace.GoRunnable, "", stack(function))
}

// over ends the trace.
func (s *script) over() *script {
	s.m.turns.end(s.m.goroutines, s.m.now)
	return s
}

// wantClasses checks the classes of what is done.
func (s *script) wantClasses(want ...string) {
	s.t.Helper()
	var got []string
	for i := range s.m.turns.done {
		got = append(got, s.m.turns.done[i].out(s.m).Class)
	}
	if strings.Join(got, ",") != strings.Join(want, ",") {
		s.t.Errorf("classes %q, want %q", got, want)
	}
}

// TestLife: where a server has a goroutine for each request, it is one from its creation to its end.
func TestLife(t *testing.T) {
	for _, entry := range []string{
		"net/http.(*http2serverConn).runHandler", "net/http/internal/http2.(*serverConn).runHandler",
		"golang.org/x/net/http2.(*serverConn).runHandler",
		"google.golang.org/grpc.(*Server).serveStreams.func1.1",
		"google.golang.org/grpc.(*Server).serveStreams.func2.1", "net/rpc.(*service).call",
	} {
		s := newScript(t, 2)
		s.at(100).createAs(0, 1, entry).at(110).run(1, 1)
		s.at(120).wait(1, "network", "internal/poll.(*FD).Read", "main.ask", entry).at(150).wake(0, 1).run(1, 1)
		s.at(160).wait(1, "select", "runtime.selectgo", "example.com/lib.(*Conn).write", entry).at(170).wake(0,
			1).run(1, 1)
		s.at(180).off(1, trace.GoNotExist, "")
		s.at(200).createAs(0, 1, entry).run(1, 1) // the end of the trace cuts it off
		s.over().wantTimes([2]int64{100, 180}, [2]int64{-1, endCut})
	}
}

// TestLifeBeforeTheTrace: its begin is not in the trace.
func TestLifeBeforeTheTrace(t *testing.T) {
	const entry = "net/http.(*http2serverConn).runHandler"
	s := newScript(t, 2)
	s.proc[1] = 1
	s.at(10).move(1, 1, trace.GoUndetermined, trace.GoRunning, "", trace.NoStack)
	s.at(20).wait(1, "sync", "sync.(*Mutex).Lock", "main.handle", entry).at(30).wake(0, 1).run(1, 1).at(40).off(1,
		trace.GoNotExist, "")
	s.over().wantTimes([2]int64{-1, startCut})
}

// TestLifeInLife: what a request starts is no request of its own.
func TestLifeInLife(t *testing.T) {
	s := newScript(t, 2)
	s.at(100).createAs(0, 1, "golang.org/x/net/http2.(*serverConn).runHandler").run(1, 1)
	s.at(110).createAs(1, 2, "google.golang.org/grpc.(*Server).serveStreams.func2.1").run(2, 2)
	s.at(120).off(2, trace.GoNotExist, "").at(130).off(1, trace.GoNotExist, "")
	s.over().wantTimes([2]int64{100, 130})
}

// TestStreamWorkers: gRPC's workers wait for work in serverWorker itself, and for anything else in a request.
func TestStreamWorkers(t *testing.T) {
	const worker = "google.golang.org/grpc.(*Server).serverWorker"
	s := newScript(t, 2)
	s.at(10).createAs(0, 1, worker).run(1, 1).wait(1, "chan receive", "runtime.chanrecv2", worker)
	for _, at := range []int64{100, 200} {
		s.at(at).wake(0, 1).at(at+5).run(1, 1)
		s.at(at+10).wait(1, "select", "runtime.selectgo", "google.golang.org/grpc.recvMsg",
			"google.golang.org/grpc.(*Server).processUnaryRPC", worker)
		s.at(at+20).wake(0, 1).run(1, 1).at(at+30).wait(1, "chan receive", "runtime.chanrecv2", worker)
	}
	s.over().wantTimes([2]int64{100, 130}, [2]int64{200, 230})
}

// TestConnectionOfStreams: a connection of net/http's server that turns out to be one of HTTP/2 is no request.
func TestConnectionOfStreams(t *testing.T) {
	for _, loop := range []string{"net/http.(*http2serverConn).serve", "golang.org/x/net/http2.(*serverConn).serve"} {
		s := newScript(t, 2)
		s.at(10).create(0, 1).run(1, 1).syscall(1, 12, header).wait(1, "network", header...)
		s.at(20).wake(0, 1).run(1, 1) // the preface
		s.at(30).wait(1, "select", "runtime.selectgo", loop, "net/http.(*conn).serve")
		s.at(40).wake(0, 1).run(1, 1).createAs(1, 2, "golang.org/x/net/http2.(*serverConn).runHandler").run(2,
			2).at(50).off(2, trace.GoNotExist, "")
		s.at(60).wait(1, "select", "runtime.selectgo", loop, "net/http.(*conn).serve")
		s.over().wantTimes([2]int64{40, 50})
	}
}

// TestRegionInLife: a region wins for the goroutine that has it, which is counted once; others are left out.
func TestRegionInLife(t *testing.T) {
	const entry = "google.golang.org/grpc.(*Server).serveStreams.func2.1"
	s := newScript(t, 2)
	s.at(50).createAs(0, 2, entry).run(2, 2).at(60).off(2, trace.GoNotExist, "")
	s.at(100).createAs(0, 1, entry).run(1, 1).at(110).begin(1).at(120).end(1)
	s.at(130).wait(1, "sync", "sync.(*Mutex).Lock", entry).at(140).wake(0, 1).run(1, 1).at(150).off(1, trace.GoNotExist,
		"")
	s.over().wantTimes([2]int64{100, 130})
	if s.m.turns.unmarked != 1 {
		t.Errorf("%d are left out, want 1", s.m.turns.unmarked)
	}
}

// TestAsked: what the user names waits for work, an actor's mailbox here; what lies inward of it
// and is the program's is work.
func TestAsked(t *testing.T) {
	for _, pattern := range []string{"main.(*actor).run", "main.*.run", "*.(*actor).r*"} {
		s := newScriptOf(t, 2, Options{Requests: []string{pattern}})
		s.at(10).createAs(0, 1, "main.(*actor).run").run(1, 1).at(20).wait(1, "chan receive", "runtime.chanrecv1",
			"main.(*actor).run")
		s.at(100).wake(0, 1).run(1, 1)
		s.at(110).wait(1, "chan receive", "runtime.chanrecv1", "main.(*actor).handle",
			"main.(*actor).run").at(120).wake(0, 1).run(1, 1)
		// a mutex is no work
		s.at(125).wait(1, "sync", "sync.(*Mutex).Lock", "main.(*actor).run").at(128).wake(0, 1).run(1, 1)
		s.at(130).wait(1, "chan receive", "runtime.chanrecv1", "main.(*actor).run")
		s.at(200).wake(0, 1).run(1, 1).at(210).off(1, trace.GoNotExist, "") // its mailbox is closed
		s.over().wantTimes([2]int64{100, 130})
		s.wantClasses("main.(*actor).run")
	}
}

// TestAskedConnection: a server of its own protocol. Its read after an answer may find the next request at once; its
// last one finds the end, which is none.
func TestAskedConnection(t *testing.T) {
	read := []string{
		"internal/poll.(*FD).Read", "net.(*netFD).Read", "net.(*conn).Read", "bufio.(*Reader).ReadLine",
		"main.serve",
	}
	write := []string{
		"syscall.write", "internal/poll.(*FD).Write", "net.(*netFD).Write", "net.(*conn).Write",
		"main.serve",
	}
	shut := []string{
		"syscall.Close", "internal/poll.(*FD).Close", "net.(*netFD).Close", "net.(*conn).Close",
		"main.serve",
	}
	s := newScriptOf(t, 2, Options{Requests: []string{"main.serve"}})
	s.at(10).createAs(0, 1, "main.serve").run(1, 1).syscall(1, 12, read).wait(1, "network", read...)
	s.at(100).wake(0, 1).run(1, 1).syscall(1, 105, write)
	s.at(110).syscall(1, 112, read) // the next one is there
	s.at(120).syscall(1, 122, write)
	s.at(125).wait(1, "network", write...).at(128).wake(0, 1).run(1, 1) // its client reads slowly
	s.at(130).syscall(1, 132, read).at(140).wait(1, "network", read...) // nothing is there
	s.at(200).wake(0, 1).run(1, 1).syscall(1, 202, read).syscall(1, 204, shut).at(210).off(1, trace.GoNotExist, "")
	s.over().wantTimes([2]int64{100, 110}, [2]int64{110, 130})
}

// TestAskedLibrary: fasthttp's connections wait in the library; its worker waits for the next connection outside of
// serveConn, where nothing is the program's.
func TestAskedLibrary(t *testing.T) {
	const worker = "github.com/valyala/fasthttp.(*workerPool).workerFunc"
	lib := func(funcs ...string) trace.Stack {
		var frames []trace.StackFrame
		for i, f := range funcs {
			file := "/src/pkg/mod/github.com/valyala/fasthttp@v1.65.0/server.go"
			if strings.HasPrefix(f, "main.") {
				file = "/src/main.go"
			}
			frames = append(frames, trace.StackFrame{PC: uint64(i + 1), Func: f, File: file, Line: 7})
		}
		return trace.MakeStack(frames)
	}
	serveConn := "github.com/valyala/fasthttp.(*Server).serveConn"
	s := newScriptOf(t, 2, Options{Requests: []string{"fasthttp.(*Server).serveConn"}})
	wait := func(reason string, st trace.Stack) {
		s.move(1, 1, trace.GoRunning, trace.GoWaiting, reason, st)
		delete(s.proc, 1)
	}
	s.at(10).move(0, 1, trace.GoNotExist, trace.GoRunnable, "", lib(worker)).run(1, 1).at(20)
	wait("network", lib("internal/poll.(*FD).Read", "net.(*netFD).Read", serveConn, worker))
	s.at(100).wake(0, 1).run(1, 1).at(110)
	wait("chan receive", lib("runtime.chanrecv1", "main.handle", serveConn, worker))
	s.at(120).wake(0, 1).run(1, 1).at(130)
	wait("network", lib("internal/poll.(*FD).Read", "net.(*netFD).Read", serveConn, worker))
	s.at(200).wake(0, 1).run(1, 1)
	s.move(1, 1, trace.GoRunning, trace.GoSyscall, "", lib("syscall.Close", "net.(*netFD).Close", "net.(*conn).Close",
		worker))
	s.at(210).move(1, 1, trace.GoSyscall, trace.GoRunning, "", trace.NoStack)
	wait("chan receive", lib("runtime.chanrecv1", worker))
	s.over().wantTimes([2]int64{100, 130})
	s.wantClasses("main.handle")
}

// TestAskedOnly: a goroutine that begins with what the user names and never waits for work is a request by its life.
func TestAskedOnly(t *testing.T) {
	s := newScriptOf(t, 2, Options{Requests: []string{"main.job"}})
	s.at(100).createAs(0, 1, "main.job").run(1, 1).at(110).wait(1, "sleep", "time.Sleep", "main.step",
		"main.job").at(120).wake(0, 1).run(1, 1)
	s.at(130).off(1, trace.GoNotExist, "")
	s.over().wantTimes([2]int64{100, 130})
}

// TestAskedBesideRegions: what is asked for by name is not left out where others have a region.
func TestAskedBesideRegions(t *testing.T) {
	s := newScriptOf(t, 3, Options{Requests: []string{"main.job"}})
	s.at(20).createAs(0, 2, "main.job").run(2, 2).at(30).off(2, trace.GoNotExist, "")
	done(serve(s).at(130))
	s.over().wantTimes([2]int64{20, 30}, [2]int64{100, 130})
}

// TestMeasuring: a request for a profile or a status page is none of a user's. It is counted, and nothing else.
func TestMeasuring(t *testing.T) {
	for page, inner := range map[string][]string{
		"profile": {"runtime/pprof.sleep", "net/http/pprof.Profile"},
		"heap":    {"runtime.GC", "net/http/pprof.handler.ServeHTTP", "net/http/pprof.Index"},
		"recorder": {
			"evenkeel.dev/reqtrace/recorder.(*Recorder).snapshot",
			"evenkeel.dev/reqtrace/recorder.(*Recorder).ServeHTTP",
		},
		"gate": {"sync.(*Mutex).Lock", "evenkeel.dev/gcgate/httpgate.Status.func1"},
	} {
		t.Run(page, func(t *testing.T) { testMeasuring(t, inner) })
	}
}

func testMeasuring(t *testing.T, inner []string) {
	profile := append(inner, "net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP",
		"net/http.(*conn).serve")
	s := newScript(t, 1)
	s.at(10).create(0, 1).run(1, 1).wait(1, "network", peek...)
	s.at(100).wake(0, 1).run(1, 1).at(110).wait(1, "sleep", profile...).at(900).wake(0, 1).run(1, 1)
	s.at(910).syscall(1, 912, answer).at(920).wait(1, "network", peek...)
	s.over().wantTimes()
	if s.m.turns.measured != 1 {
		t.Errorf("%d are counted, want 1", s.m.turns.measured)
	}
}

// TestRequestsRefused: a pattern that no function can match.
func TestRequestsRefused(t *testing.T) {
	for _, bad := range []string{"", "main.[", `main.\`} {
		var option *evenkeel.OptionError
		if _, err := newModel(Options{Class: bad}); bad != "" &&
			(!errors.As(err, &option) || option.Option != "Class") {
			t.Errorf("class %q: %v", bad, err)
		}
		if _, err := newModel(Options{Requests: []string{"main.ok", bad}}); !errors.As(err, &option) ||
			option.Option != "Requests" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestCandidates: without requests the error lists what waited again and again.
func TestCandidates(t *testing.T) {
	s := newScript(t, 2)
	s.at(10).createAs(0, 1, "main.(*pool).worker").run(1, 1)
	s.createAs(0, 2, "main.tick").run(2, 2)
	for i := range int64(20) {
		s.at(100+i).wait(1, "chan receive", "runtime.chanrecv1", "main.(*pool).worker").wake(0, 1).run(1, 1)
		s.wait(1, "sync", "sync.(*Mutex).Lock", "main.(*cache).get", "main.(*pool).worker").wake(0, 1).run(1, 1)
	}
	for range 2 {
		s.wait(2, "sleep", "time.Sleep", "main.tick").wake(0, 2).run(2, 2)
	}
	err := s.m.sites.noRequests()
	var none *NoRequestsError
	if !errors.As(err, &none) || len(none.Candidates) != 1 ||
		none.Candidates[0] != "main.(*pool).worker" {
		t.Fatalf("%+v", err)
	}
	if want := "(Options.Requests), wrap"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v lacks %q", err, want)
	}
	if want := "\n  main.(*pool).worker"; !strings.Contains(err.Error(), want) {
		t.Errorf("%v lacks %q", err, want)
	}
}

// TestHandlerLookedFor: while a mux looks for the route, neither what it calls nor the middleware
// around it is the handler.
func TestHandlerLookedFor(t *testing.T) {
	frames := []frame{
		{trace.StackFrame{Func: "net/http.(*ServeMux).matchOrRedirect"}, ownerStd},
		{trace.StackFrame{Func: "net/http.(*ServeMux).findHandler"}, ownerStd},
		{trace.StackFrame{Func: "net/http.(*ServeMux).ServeHTTP"}, ownerStd},
		{trace.StackFrame{Func: "main.logging.func1"}, ownerProgram},
		{trace.StackFrame{Func: "net/http.HandlerFunc.ServeHTTP"}, ownerStd},
	}
	if h := handlerOf(frames); h != -1 {
		t.Errorf("the handler is frame %d, want none", h)
	}
}

// TestHandlerByValue tests that middleware which calls the next handler as a function value is
// passed over once its line has called two handlers. Two calls on one line are not middleware, and
// neither is a handler that calls something.
func TestHandlerByValue(t *testing.T) {
	s := newSites()
	for i, tt := range []struct {
		callee, middleware string
		pc                 uint64 // of the middleware's call
		line               uint64
		want               int
	}{
		{"main.(*api).search", "main.observed.func1", 3, 30, 2}, // it could still be a handler
		{"main.(*api).search", "main.observed.func1", 3, 30, 2},
		{"main.(*api).store", "main.observed.func1", 4, 30, 2}, // another call on that line
		{"main.(*api).store", "main.observed.func1", 3, 30, 0},
		{"main.(*api).search", "main.observed.func1", 3, 30, 0},
		{"main.(*api).search", "main.run.counted.func1", 5, 40, 1}, // limited calls search too
		{"main.(*api).store", "main.run.counted.func2", 6, 40, 0},  // a copy
		{"main.(*api).store", "main.(*api).report", 5, 50, 2},      // a handler, and a function that it calls
		{"main.(*api).search", "main.(*api).report", 5, 50, 2},
	} {
		frames := []frame{
			{trace.StackFrame{Func: tt.callee}, ownerProgram},
			{trace.StackFrame{Func: tt.middleware, PC: tt.pc, Line: tt.line}, ownerProgram},
			{trace.StackFrame{Func: "main.run.(*api).limited.func6", PC: 7}, ownerProgram},
			{trace.StackFrame{Func: "net/http.HandlerFunc.ServeHTTP"}, ownerStd},
		}
		if tt.middleware == "main.(*api).report" {
			frames = append(frames[:2], frames[3])
			tt.want--
		}
		if h := s.handler(frames); h != tt.want {
			t.Errorf("%d: the handler is frame %d, want %d", i, h, tt.want)
		}
	}
}

// TestJobsOfOthers: a worker's jobs before the request's own are the others', though nobody waited
// for what came of them and the worker never had to wait for one. What it does several times for
// one job is the request's, where it was idle before.
func TestJobsOfOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		usual int  // waits in each job before
		idle  bool // the worker was, until the request sent its job
		want  map[Cause]int64
	}{
		"a full queue":           {1, false, map[Cause]int64{CauseRunning: 20, CauseChannel: 70, CauseSleep: 30}},
		"one job of three waits": {1, true, map[Cause]int64{CauseRunning: 30, CauseSleep: 90}},
		"jobs of several waits":  {2, false, map[Cause]int64{CauseRunning: 30, CauseSleep: 90}},
	} {
		t.Run(name, func(t *testing.T) {
			s := holds(newScript(t, 4), 2)
			s.at(11).create(0, 3).run(3, 3).wait(3, "chan receive", "main.other")
			for i := range int64(minJobs) { // each takes 4 µs
				for j := range int64(tt.usual) {
					s.at(20+4*i+j).wait(2, "sleep", "time.Sleep", "main.work").at(21+4*i+j).wake(0, 2).run(2, 2)
				}
				s.at(23+4*i).wake(2, 3).run(3, 3).wait(3, "chan receive", "main.other")
			}
			if tt.idle {
				s.at(90).wait(2, "chan receive", "main.work")
			}
			serve(s)
			if s.at(105); tt.idle {
				s.wake(1, 2).run(2, 2)
			}
			s.wait(1, "chan receive", "main.submit")
			for i := range int64(3) {
				s.at(110+35*i).wait(2, "sleep", "time.Sleep", "main.work").at(140+35*i).wake(0, 2).run(2, 2)
			}
			s.at(215).release(2, 1, "main.work").run(1, 1)
			r := done(s.at(220)).want(tt.want)
			if b := r.Sites[0]; tt.want[CauseChannel] > 0 &&
				(b.Cause != CauseChannel || b.Site != "main.submit (x.go:7)" || b.Doing != CauseSleep ||
					b.Time != 60*time.Microsecond) {
				t.Errorf("%+v", b)
			}
		})
	}
}

// TestRecordedStreams reads traces of HTTP/2, and of gRPC without and with stream workers, of all
// Go releases that write such traces: each request is found, and the planted lock.
func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/streams/*.trace.gz")
	if err != nil || len(names) < 18 {
		t.Fatalf("%q, %v: reqtrace/testdata/gen.sh writes them", names, err)
	}
	for _, name := range names {
		kind := strings.TrimSuffix(filepath.Base(name), ".trace.gz")
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			packed, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			r, err := Analyze(t.Context(), z, Options{})
			if err != nil {
				t.Fatal(err)
			}
			const requests = 200 // of testdata/gen
			if n := r.Requests + r.CutStart + r.CutEnd; n < requests-2 || n > requests+2 || r.Requests < requests-6 ||
				r.Broken != "" {
				t.Errorf("%d whole requests of %d, %d and %d cut, broken: %q", r.Requests, requests, r.CutStart,
					r.CutEnd, r.Broken)
			}
			slow := r.Bands[2] // a tenth of the requests meets the lock
			if b := slow.Sites[0]; slow.Name != "p90-99" ||
				b.Cause != CauseLock || !strings.HasPrefix(b.Site, "main.(*cache).get (main.go:") ||
				slow.Share(CauseLock) < .5 {
				t.Errorf("the lock has %f of the excess of %s; most is %+v", slow.Share(CauseLock), slow.Name, b)
			}
			class := "main.(*cache).Check"
			if strings.HasSuffix(kind, "http2") {
				class = "main.(*cache).ServeHTTP"
			}
			if i := slices.IndexFunc(r.Classes, func(c Class) bool { return c.Name == class }); i < 0 ||
				r.Classes[i].Requests < 15 || len(r.Classes) > 2 {
				t.Errorf("classes: %+v; want those that met the lock to be %s, and others not to be known", r.Classes,
					class)
			}
			if u := r.Total.Of(CauseUnknown); u > r.Total.Total()/1000 {
				t.Errorf("unknown: %v of %v", u, r.Total.Total())
			}
		})
	}
}

// TestHTTP2Found: of a server of HTTP/2 over TLS in this very Go, requests are found within 1% of
// what the client counted.
func TestHTTP2Found(t *testing.T) {
	const requests = 300
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, "hello")
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	get := func() {
		res, err := s.Client().Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.ProtoMajor != 2 {
			t.Fatal(res.Proto, err)
		}
	}
	get() // the connection is there when the trace begins
	var buf bytes.Buffer
	if err := runtimetrace.Start(&buf); err != nil {
		t.Fatal(err)
	}
	for range requests {
		get()
	}
	runtimetrace.Stop()
	r, err := Analyze(t.Context(), &buf, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Requests + r.CutStart + r.CutEnd; n < requests*99/100 || n > requests*101/100 {
		t.Errorf("%d whole, %d and %d cut; the client counts %d", r.Requests, r.CutStart, r.CutEnd, requests)
	}
}
