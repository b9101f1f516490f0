//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/testutil"
)

// running starts testdata/server by itself, as a service that runs already, and returns the log of
// its standard error.
func (s *service) running(env string, args ...string) (log string) {
	s.t.Helper()
	log = filepath.Join(s.t.TempDir(), "server.log")
	f, err := os.Create(log)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command(s.program, append([]string{"-addr", s.addr}, args...)...)
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1", env)
	cmd.Stderr = f
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	until(s.t, "it listens", func() bool {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return log
}

// TestLoadRunning loads a service that runs already, which serves its profiles and has a log.
func TestLoadRunning(t *testing.T) {
	t.Parallel()
	s, out := newService(t), filepath.Join(t.TempDir(), "run.json")
	log := s.running("A=b", "-pprof", "-alloc", "102400")
	const allocated = 100 << 10
	load := func(flags string) (result, *runfile.Run) {
		r := execute(t, append(strings.Fields("load -n 600 -c 8 -o "+out+" "+flags), s.url())...)
		return r, &readRuns(t, out).Runs[0]
	}

	r, found := load("")
	r.check(t, cli.ExitOK, []string{
		"collections", "GC pause, total", "allocated/request", "main.waste",
		"(runtime.MemStats), which does not tell time in GC",
	}, nil)
	if strings.Contains(r.stdout, "\ntime in GC") || strings.Contains(r.stdout, "\npeak heap") {
		t.Errorf("rows that runtime.MemStats cannot tell:\n%s", r.stdout)
	}
	if gc := found.GC; gc == nil || gc.Source != runfile.FromMemStats || gc.Summary.Collections == 0 ||
		len(gc.Collections) > 0 {
		t.Fatalf("collections: %+v, notes %q", gc, found.Notes)
	}
	if x := float64(found.Alloc.Bytes) / 600 / allocated; found.Alloc.Source != runfile.FromMemStats || x < .95 ||
		x > 1.1 {
		t.Errorf("allocated %.3f of what the server is known to allocate, by %s", x, found.Alloc.Source)
	}
	if found.PProf != s.url()+"debug/pprof/" || found.GCTrace != "" || len(found.Notes) > 0 {
		t.Errorf("from %q and %q, notes %q", found.PProf, found.GCTrace, found.Notes)
	}
	if runtime.GOOS == "linux" {
		if found.Server == nil || found.Server.PeakRSSBytes < 1<<20 || found.Disturbance == nil ||
			found.Disturbance.Service != "server" {
			t.Errorf("server %+v, disturbance %+v", found.Server, found.Disturbance)
		}
	}

	r, both := load("-gctrace " + log)
	r.check(t, cli.ExitOK, []string{
		"time in GC", "total GC time", "peak heap", "main.waste",
		"collector by " + log + " (gctrace); allocation by " + s.url(),
	}, nil)
	if gc := both.GC; gc == nil || gc.Source != runfile.FromTrace || gc.Summary.Collections == 0 ||
		int(gc.Summary.Collections) != len(gc.Collections) {
		t.Fatalf("collections: %+v, notes %q", gc, both.Notes)
	}
	if both.GCTrace != log || both.Alloc.Source != runfile.FromMemStats || len(both.Notes) > 0 {
		t.Errorf("from %q, allocations by %q, notes %q", both.GCTrace, both.Alloc.Source, both.Notes)
	}

	r, traced := load("-pprof off -gctrace " + log)
	r.check(t, cli.ExitOK, []string{"time in GC", "allocated/request"}, nil)
	if traced.GC == nil || traced.Alloc == nil || traced.Alloc.Source != runfile.FromTrace || traced.PProf != "" {
		t.Errorf("%+v", traced)
	}

	// Lines of before, and none of now, are no sign of a collector that rests.
	lines := startWith(t, gcLog(1, 1), append(strings.Fields("load -n 20 -pprof off -gctrace - -o "+out),
		s.url())...).wait()
	lines.check(t, cli.ExitOK, []string{"! standard input: no gctrace line came during the load"}, nil)
	if run := readRuns(t, out).Runs[0]; run.GC != nil || run.Alloc != nil {
		t.Errorf("%+v and %+v of nothing", run.GC, run.Alloc)
	}
}

// TestLoadCounts has a service that runs already collect at each of 50 requests, and else never:
// its own count is exact.
func TestLoadCounts(t *testing.T) {
	t.Parallel()
	s, out := newService(t), filepath.Join(t.TempDir(), "run.json")
	log := s.running("GOGC=off", "-pprof", "-collect", "50")
	execute(t, "load", "-n", "80", "-c", "1", "-o", out, s.url()).check(t, cli.ExitOK, []string{"collections 50"}, nil)
	gc := readRuns(t, out).Runs[0].GC
	forced, _ := gc.Summary.Forced.Get()
	pause, ok := gc.Summary.Wall.Pause.Get()
	if gc.Summary.Collections != 50 || forced != 50 || !ok || pause <= 0 {
		t.Errorf("%d collections, %d of them forced, paused for %v; want 50", gc.Summary.Collections, forced, pause)
	}
	// Now it does not collect any more, and both sources say so.
	execute(t, "load", "-n", "80", "-c", "1", "-gctrace", log, "-o", out, s.url()).check(t, cli.ExitOK,
		[]string{"collections 0", "time in GC 0"}, nil)
}

func TestLoadObservesNothing(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	dir, hang := t.TempDir(), make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/debug/") {
			<-hang
		}
	})
	defer close(hang)
	// which each answer has, too, and a busy machine may need more of
	for limit := 200 * time.Millisecond; ; limit *= 4 {
		r := execute(t, "load", "-n", "5", "-t", limit.String(), url)
		if !strings.Contains(blanks.ReplaceAllString(r.stdout, " "), "status 200 5") && limit < patience/4 {
			continue
		}
		r.check(t, cli.ExitOK, []string{"status 200 5"}, nil) // profiles that hang are none
		break
	}
	for _, tt := range []struct{ flags, want string }{
		{"-pprof " + url + "/nothing", "-pprof: no allocation profile"},
		{"-gctrace " + dir + "/none", "no such file"},
		{"-gctrace " + dir, "is not a file"},
	} {
		execute(t, append(strings.Fields("load -n 5 "+tt.flags), url)...).check(t, cli.ExitFailed, nil,
			[]string{tt.want})
	}
	for _, tt := range []struct{ flags, want string }{
		{"-pprof ftp://x", "-pprof"},
		{"-gctrace - -targets -", "only one of -D, -targets and -gctrace"},
		{"-html -", "compare -html -"},
		{"-fail-if p99", "no > or <"},
		{"-fail-if nobody:p99>1s", "no class \"nobody\""},
		{"-seed 5", "-seed is for -arrivals poisson and -template"},
		{"-find p99<1s", "-find and -n exclude each other"},
	} {
		call(append(strings.Fields("load -n 5 "+tt.flags), url)...).check(t, cli.ExitUsage, nil, []string{tt.want})
	}
}

// TestLoadMix loads by a file of targets, and fails by a limit on one of its classes.
func TestLoadMix(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/write") {
			w.WriteHeader(http.StatusConflict)
		}
	})
	targets := writeIn(t, dir, "targets", "/read/{{int 1 9}} weight=3 class=read\nPOST /write/{{seq}} class=write\n")
	out, page := filepath.Join(dir, "run.json"), filepath.Join(dir, "page.html")
	args := []string{
		"load", "-n", "40", "-pprof", "off", "-template", "-seed", "7", "-targets", targets, "-o", out,
		"-html", page, url,
	}
	r := execute(t, append(args, "-fail-if", "read:bad>0%", "-fail-if", "failed>0")...)
	r.check(t, cli.ExitOK, []string{"and 30 more", "requests: from " + targets +
		", 40 different ones made with -seed 7", "by class share requests", "read 75.0% 30 0 0", "write 25.0% 10 0 10"},
		nil)
	run1 := readRuns(t, out).Runs[0]
	if run1.Mix == nil || *run1.Mix.Seed != 7 || run1.Mix.Made != 40 || run1.Mix.File != targets ||
		len(run1.Load.Classes) != 2 {
		t.Errorf("%+v, %+v", run1.Mix, run1.Load.Classes)
	}
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "By class of request") {
		t.Errorf("the page: %v", err)
	}
	call("compare", out).check(t, cli.ExitOK, []string{"by class", "write 25.0% 10 0 10"}, nil)
	r = execute(t, append(args, "-fail-if", "write:bad>50%", "-fail-if", "rate<1000000000/s")...)
	r.check(t, cli.ExitLimit, []string{"by class"},
		[]string{"evenkeel load: -fail-if write:bad>50%: it is 100.0%\n", "-fail-if rate<1000000000/s: it is "})
	if again := readRuns(t, out).Runs[0]; strings.Join(again.Load.Targets, " ") != strings.Join(run1.Load.Targets,
		" ") {
		t.Errorf("the same seed made %q, and then %q", run1.Load.Targets, again.Load.Targets)
	}
}

// TestLoadOverload asks a service for ten times what one connection to it can carry.
func TestLoadOverload(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	url := serve(t, func(http.ResponseWriter, *http.Request) { time.Sleep(20 * time.Millisecond) })
	const says = "/s is more than it can "
	for z := 1200 * time.Millisecond; ; z *= 4 { // a machine that stands still for half of it answers nothing then
		r := execute(t, "load", "-pprof", "off", "-rate", "500", "-c", "1", "-z", z.String(), url)
		if !strings.Contains(r.stdout, says) && z < patience/4 {
			continue
		}
		r.check(t, cli.ExitOK, []string{says}, nil)
		break
	}
}

// TestRunMix has a mix of requests put on a service that evenkeel starts.
func TestRunMix(t *testing.T) {
	t.Parallel()
	s, dir := newService(t), t.TempDir()
	out := filepath.Join(dir, "run.json")
	targets := writeIn(t, dir, "targets", "/a weight=3 class=a\n/b\n")
	r := execute(t, s.args("-n 40 -c 2 -targets "+targets+" -o "+out)...)
	r.check(t, cli.ExitOK, []string{"by class", "a 75.0% 30 0 0"}, nil)
	got := readRuns(t, out).Runs[0]
	if got.Mix == nil || got.Mix.Made != 2 || got.Mix.Seed != nil || len(got.Load.Classes) != 2 {
		t.Errorf("%+v, %+v", got.Mix, got.Load.Classes)
	}
	if runtime.GOOS == "linux" && (got.Disturbance == nil || got.Disturbance.Service != "server") {
		t.Errorf("disturbance %+v", got.Disturbance)
	}
}

func TestGCTrace(t *testing.T) {
	t.Parallel()
	log := gcLog(1, 20)
	want := []string{"collections 20\n", "of 2 processors", "live", "3 MiB"}
	call("gctrace", logFile(t, log)).check(t, cli.ExitOK, want, nil)
	startWith(t, log, "gctrace").wait().check(t, cli.ExitOK, want, nil)
	startWith(t, log, "gctrace", "-").wait().check(t, cli.ExitOK, want, nil)

	r := call("gctrace", "-json", logFile(t, log))
	r.check(t, cli.ExitOK, nil, nil)
	var got struct {
		Summary gctrace.Summary
		Log     gctrace.Stats
	}
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Summary.Collections != 20 || got.Log.Lines != 40 || got.Log.Foreign != 20 {
		t.Errorf("%+v", got)
	}
}

func TestGCTraceOddLogs(t *testing.T) {
	t.Parallel()
	random := make([]byte, 1<<20)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rnd.Uint32())
	}
	const what = "start the program with GODEBUG=gctrace=1"
	call("gctrace", logFile(t, "")).check(t, cli.ExitFailed, nil, []string{"no gctrace line", what})
	call("gctrace", logFile(t, "listening\n")).check(t, cli.ExitFailed, nil, []string{what})
	call("gctrace", "-json", logFile(t, "listening\n")).check(t, cli.ExitFailed, nil, []string{what})
	call("gctrace", logFile(t, string(random))).check(t, cli.ExitFailed, nil, []string{what})
	call("gctrace", logFile(t, strings.Repeat("x", 5<<20))).check(t, cli.ExitFailed, nil, []string{what})
	call("gctrace", logFile(t, string(random)+"\n"+gcLog(1, 3))).check(t, cli.ExitOK, []string{"collections 3\n"}, nil)
	call("gctrace", logFile(t, gcLog(1, 3)+gcLog(7, 9))).check(t, cli.ExitOK,
		[]string{"collections 9\n", "of the 6 of 9 cycles that the log has", "could not be read: 3"}, nil)
	call("gctrace", logFile(t, gcLog(1, 3)+"gc 4 @0.400s 4%: 0.02")).check(t, cli.ExitOK,
		[]string{"gc 1 to gc 3"}, nil)
	startWith(t, "", "gctrace").wait().check(t, cli.ExitFailed, nil, []string{"standard input: no gctrace line", what})
}

// TestGCTraceInterrupted reads standard input that does not end, at least what had left the pipe.
func TestGCTraceInterrupted(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := command(t, "gctrace")
	c.cmd.Stdin = r
	c.start()
	r.Close()
	// Once over a pipe's capacity is written, it has read and so caught signals.
	if _, err := w.WriteString(gcLog(1, 2000)); err != nil {
		t.Fatal(err)
	}
	c.signal(syscall.SIGINT)
	got := c.wait()
	got.check(t, cli.ExitInterrupted, []string{"gc 1 to gc ", "time in GC"}, nil)
	var last int64
	_, after, _ := strings.Cut(got.stdout, "gc 1 to gc ")
	_, _ = fmt.Sscan(strings.TrimRight(after[:min(len(after), 5)], ", "), &last)
	if last < 1000 || last > 2000 {
		t.Errorf("%d collections were read, want 1000 to 2000", last)
	}
}
