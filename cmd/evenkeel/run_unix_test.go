//go:build unix

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/testutil"
)

func TestRun(t *testing.T) {
	t.Parallel()
	s, out := newService(t), filepath.Join(t.TempDir(), "run.json")
	const allocated = 100 << 10
	r := execute(t, s.args("-n 1500 -c 8 -o "+out, "-pprof", "-alloc", "102400", "-say", "2")...)
	r.check(t, cli.ExitOK, []string{
		"requests/s", "time in GC", "collections", "total GC time", "average pace", "requests/collection",
		"allocated/request",
		"p50", "p90", "p99", "p99.9", "max", "lines that allocate", "main.waste", "server/main.go:",
	}, []string{"starting ", "server says 2", "wrote " + out})
	if strings.Contains(r.stderr, "clock") {
		t.Errorf("the collector's lines are passed on:\n%s", r.stderr)
	}
	s.ended(1)
	run := readRuns(t, out).Runs[0]
	if run.Load.Answered != 1500 || run.Load.Statuses[200] != 1500 || len(run.Notes) > 0 {
		t.Errorf("answered %d, statuses %v, notes %q", run.Load.Answered, run.Load.Statuses, run.Notes)
	}
	if a := run.Alloc; a == nil || a.Source != runfile.FromMemStats {
		t.Fatalf("allocations: %+v", a)
	}
	// net/http allocates too: 1 to 2 KiB a request, besides the 100 KiB.
	if x := float64(run.Alloc.Bytes) / 1500 / allocated; x < .95 || x > 1.1 {
		t.Errorf("allocated %.3f of what the server is known to allocate", x)
	}
	if top := run.Alloc.Lines[0]; float64(top.Flat) < .7*float64(run.Alloc.Sampled) || top.Name != "main.waste" ||
		top.Line == 0 {
		t.Errorf("%+v of %d bytes", top, run.Alloc.Sampled)
	}
	if gc := run.GC; gc == nil || gc.Summary.Collections == 0 || int(gc.Summary.Collections) != len(gc.Collections) {
		t.Fatalf("collections: %+v", gc)
	}
	if run.Server.PeakRSSBytes == 0 || run.Server.Exit != "signal: terminated" {
		t.Errorf("server: %+v", run.Server)
	}
}

// TestRunWindow has a server collect before it gets ready only. It listens when all that it has
// said, the collector's lines first, was read: the second word is not read before the first.
func TestRunWindow(t *testing.T) {
	t.Parallel()
	for _, pprof := range []string{"-pprof", "-pprof=false"} {
		s, dir := newService(t), t.TempDir()
		out, first, second := filepath.Join(dir, "run.json"), filepath.Join(dir, "first"), filepath.Join(dir, "second")
		c := start(t, s.args("-warmup 20ms -n 200 -c 4 -o "+out+" -variant x:GOGC=off", "-collect-at-start", "20",
			"-await", first+","+second, pprof)...)
		for _, name := range []string{first, second} {
			until(t, "it waits for "+name, func() bool { return c.stderr.has("server says it waits for " + name) })
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c.wait().check(t, cli.ExitOK, []string{"collections"}, nil)
		run := readRuns(t, out).Runs[0]
		if run.GC == nil {
			t.Fatalf("no collections seen: %q", run.Notes)
		}
		if n := run.GC.Summary.Collections; n != 0 || len(run.GC.Collections) != 0 {
			t.Errorf("%s: %d collections in the window, %v, want none", pprof, n, run.GC.Collections)
		}
		if p, ok := run.GC.Summary.CPUPercent.Get(); !ok || p != 0 {
			t.Errorf("%s: %v%% of time in GC, want 0", pprof, p)
		}
	}
}

// TestRunCounts has a server collect at each of 50 measured requests, and but for those never.
func TestRunCounts(t *testing.T) {
	t.Parallel()
	s, out := newService(t), filepath.Join(t.TempDir(), "run.json")
	// The last answers stand three quarters of a second after the last collection.
	args := s.args("-n 200 -c 1 -ready "+s.url()+"ready -o "+out+" -variant x:GOGC=off", "-collect", "50", "-slow",
		"5ms")
	execute(t, args...).check(t, cli.ExitOK, nil, nil)
	// The runtime's clock is read to a few milliseconds: the first may seem to lie before the
	// window.
	if n := readRuns(t, out).Runs[0].GC.Summary.Collections; n < 48 || n > 50 {
		t.Errorf("%d collections in the window, want 50", n)
	}
}

func TestRunVariants(t *testing.T) {
	t.Parallel()
	s, dir := newService(t), t.TempDir()
	out, page := filepath.Join(dir, "run.json"), filepath.Join(dir, "page.html")
	args := s.args("-n 60 -repeat 2 -o "+out+" -html "+page, "-alloc", "200000")
	args = append(args[:1:1], append([]string{"-variant", "a:", "-variant", "no gc: GOGC=off X='1 2' -say 1"},
		args[1:]...)...)
	r := execute(t, args...)
	r.check(t, cli.ExitOK, []string{"no gc", "median of 2 repeats", `ratio to "a"`, "-pprof"}, []string{
		"a 1/2: starting", "a 2/2: starting", "no gc 2/2: starting GOGC=off X=1 2", "server says 1",
		"wrote " + page,
	})
	f := readRuns(t, out)
	for i, run := range f.Runs {
		if a := run.Alloc; a != nil && a.Source != runfile.FromTrace {
			t.Errorf("%s: allocations from %s, want the trace", run.Label, a.Source)
		}
		if run.Round != i/2+1 || run.Repeat != run.Round || run.Label != f.Plan.Order[i/2][i%2] {
			t.Errorf("run %d is of %s in round %d; drawn were %v", i, run.Label, run.Round, f.Plan.Order)
		}
	}
	if len(f.Runs) != 4 || f.Plan.Seed == 0 {
		t.Errorf("%d runs, plan %+v", len(f.Runs), f.Plan)
	}
	s.ended(1)

	c := call("compare", out)
	c.check(t, cli.ExitOK, []string{"no gc"}, nil)
	if !strings.HasPrefix(r.stdout, c.stdout) {
		t.Errorf("compare prints\n%s\nrun printed\n%s", c.stdout, r.stdout)
	}
}

// TestRunPlanted has a service whose requests were made to wait, and one that was not, measured and
// judged.
func TestRunPlanted(t *testing.T) {
	testutil.Long(t, "starts a service two dozen times")
	t.Parallel()
	for name, tt := range map[string]struct {
		head string
		code int
	}{"planted": {"head: -slow 400ms", cli.ExitLimit}, "none": {"head:", -cli.ExitLimit}} {
		s, out := newService(t), filepath.Join(t.TempDir(), "run.json")
		args := s.args("-n 40 -c 20 -repeat 6 -figures p50 -pprof off -o " + out)
		args = append(args[:1:1], append([]string{"-variant", "base:", "-variant", tt.head}, args[1:]...)...)
		execute(t, args...).check(t, cli.ExitOK, []string{"median of 6 repeats", `ratio to "base"`}, nil)
		c := call("compare", "-fail-if", "p50 > +100%", out)
		if tt.code >= 0 && c.code != tt.code || tt.code < 0 && c.code == -tt.code {
			t.Errorf("%s: exit code %d\n%s%s", name, c.code, c.stdout, c.stderr)
		}
		s.ended(1)
	}
}

func TestRunToStdout(t *testing.T) {
	t.Parallel()
	s := newService(t)
	r := execute(t, s.args("-n 20 -o -")...)
	r.check(t, cli.ExitOK, nil, nil)
	if f, err := runfile.Read(strings.NewReader(r.stdout)); err != nil || len(f.Runs) != 1 {
		t.Errorf("%v\n%s", err, r.stdout)
	}
}

// TestRunFails has everything go wrong that can; whatever happens, nothing is left behind.
func TestRunFails(t *testing.T) {
	for _, tt := range []struct {
		name, flags string
		server      []string
		code        int
		stdout      []string
		stderr      []string
		processes   int
	}{
		{
			"dies at the start", "",
			[]string{"-die-at-start", "-say", "2"},
			cli.ExitFailed, nil,
			[]string{
				"ended before it was ready: exit status 3", "the last it wrote",
				"  server says 2\n  fatal: the database is gone",
			},
			1,
		},
		{
			"dies under load", "-z 30s",
			[]string{"-die-after", "100"},
			cli.ExitFailed, nil,
			[]string{"ended under load after", "exit status 4", "  fatal: out of coffee"},
			1,
		},
		{
			"dies under a short load", "-n 300 -c 2",
			[]string{"-die-after", "100"},
			cli.ExitFailed, nil,
			[]string{"ended under load after", "exit status 4"},
			1,
		},
		{
			"dies in warm-up", "-warmup 30s -z 30s",
			[]string{"-die-after", "100"},
			cli.ExitFailed, nil,
			[]string{"exit status 4"},
			1,
		},
		{
			"answers 404", "-n 20",
			[]string{"-status", "404"},
			cli.ExitFailed,
			[]string{"status 404", "not 2xx or 3xx"},
			[]string{"none of 20 answers had a status of 2xx or 3xx"},
			1,
		},
		{
			"ignores SIGTERM", "-n 20 -stop-timeout 200ms",
			[]string{"-ignore-term"},
			cli.ExitOK,
			[]string{"! run: the server did not stop gently: killed", "200ms after SIGTERM"},
			nil, 1,
		},
		{"starts another", "-n 20", []string{"-fork"}, cli.ExitOK, []string{"requests/s"}, nil, 2},
		{
			"starts another and dies", "",
			[]string{"-fork", "-die-at-start"},
			cli.ExitFailed, nil,
			[]string{"exit status 3"},
			2,
		},
		{
			"no pprof", "-n 20", nil, cli.ExitOK,
			[]string{"answered 404 Not Found", "import net/http/pprof", "-pprof"},
			nil, 1,
		},
		{"pprof is off", "-n 20 -pprof off", nil, cli.ExitOK, []string{"requests/s"}, nil, 1},
		{"writes much", "-n 20", []string{"-say", "6000"}, cli.ExitOK, nil, []string{"server says 6000"}, 1},
		{"wrong flag", "", []string{"-bogus"}, cli.ExitFailed, nil, []string{"exit status 2", "-bogus"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			execute(t, s.args(tt.flags, tt.server...)...).check(t, tt.code, tt.stdout, tt.stderr)
			s.ended(tt.processes)
		})
	}
}

// TestRunNeverReady: a server that does not listen is told from one that has not begun yet, which
// gets more time: a busy machine may need it to start a process.
func TestRunNeverReady(t *testing.T) {
	t.Parallel()
	for limit := 300 * time.Millisecond; ; limit *= 4 {
		s := newService(t)
		r := execute(t, s.args("-ready-timeout "+limit.String(), "-never-ready")...)
		if len(s.processes()) == 0 && limit < patience/4 {
			continue
		}
		r.check(t, cli.ExitFailed, nil, []string{
			"not ready within " + limit.String(), "connection refused",
			"-ready-timeout",
		})
		s.ended(1)
		return
	}
}

// TestRunSilentServer: a server that says on standard output alone why it ends, or not at all.
func TestRunSilentServer(t *testing.T) {
	t.Parallel()
	s := newService(t)
	execute(t, "run", "-url", "http://"+s.addr+"/", "-n", "10", "--", "sh", "-c", "echo no database; exit 5").check(t,
		cli.ExitFailed, nil,
		[]string{"the server ended before it was ready: exit status 5\nit wrote nothing to " +
			"standard error; start it by itself"})
}

func TestRunFailsBeforeStarting(t *testing.T) {
	t.Parallel()
	s := newService(t)
	args := s.args("")
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	execute(t, args...).check(t, cli.ExitFailed, nil, []string{"something listens at " + s.addr, "another port"})
	s.ended(0)
	url := "http://" + freeAddr(t) + "/"
	execute(t, "run", "-url", url, "--", "no-such-program-anywhere").check(t, cli.ExitFailed, nil,
		[]string{"cannot start no-such-program-anywhere"})
	execute(t, "run", "-url", url, "--", t.TempDir()).check(t, cli.ExitFailed, nil,
		[]string{"cannot start", "permission denied"})
	execute(t, s.args("-o "+t.TempDir())...).check(t, cli.ExitFailed, nil, []string{"is a folder"})
	s.ended(0)
}

// TestRunWithoutTrace loads what prints no gctrace lines.
func TestRunWithoutTrace(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("env"); err != nil {
		t.Skip("env is not installed")
	}
	s := newService(t)
	execute(t, "run", "-url", s.url(), "-n", "20", "--", "env", "-i", s.program, "-addr", s.addr, "-pids", s.pids).
		check(t, cli.ExitOK, []string{"requests/s", "printed no gctrace line", "drop GODEBUG"}, nil)
	s.ended(1)
}

// TestRunKeepsWhatThereIs has the second variant fail: the seed draws the good one first.
func TestRunKeepsWhatThereIs(t *testing.T) {
	t.Parallel()
	s, out := newService(t), filepath.Join(t.TempDir(), "run.json")
	args := s.args("-n 20 -seed 4 -o " + out)
	args = append(args[:1:1], append([]string{"-variant", "good:", "-variant", "bad: -die-at-start"}, args[1:]...)...)
	args = append(args[:1:1], append([]string{"-seed", "4"}, args[1:]...)...) // draws the good one first
	execute(t, args...).check(t, cli.ExitFailed, []string{"good", "requests/s"},
		[]string{"wrote " + out, "evenkeel run: bad: the server ended"})
	if n := len(readRuns(t, out).Runs); n != 1 {
		t.Errorf("%d runs in run.json, want the good one", n)
	}
}

// TestRunClosedPipe has nobody read what is printed: the server must not be left behind, nor
// the runs be lost.
func TestRunClosedPipe(t *testing.T) {
	t.Parallel()
	s, out := newService(t), filepath.Join(t.TempDir(), "run.json")
	cmd := thisCommand(t.Context(), s.args("-z 300ms -o "+out, "-say", "1000")...)
	o, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	e, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o.Close()
	e.Close()
	if err := cmd.Wait(); err == nil {
		t.Error("it did not notice")
	}
	s.ended(1)
	if n := len(readRuns(t, out).Runs); n != 1 {
		t.Errorf("%d runs in run.json", n)
	}
}
