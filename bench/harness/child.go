//go:build linux

package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/examples/child"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/loadgen"
)

func Root() string {
	dir := ".."
	for range 4 {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "evenkeel")); err == nil {
			break
		}
		dir = filepath.Join(dir, "..")
	}
	return dir
}

// Program builds a package once and returns the path of its program. pkg is its folder below the
// root, such as examples/hello.
func (r *Run) Program(ctx context.Context, pkg string, flags ...string) (string, error) {
	return r.build(ctx, pkg, append([]string{"build"}, flags...))
}

// TestProgram is Program for the tests of a package.
func (r *Run) TestProgram(ctx context.Context, pkg string) (string, error) {
	return r.build(ctx, pkg, []string{"test", "-c"})
}

func (r *Run) build(ctx context.Context, pkg string, args []string) (string, error) {
	key := strings.Join(append(args, pkg), " ")
	if path, ok := r.h.programs[key]; ok {
		return path, nil
	}
	module := Root()
	name := pkg
	for _, nested := range []string{"bench/explain/real", "bench", "examples"} {
		if rest, ok := strings.CutPrefix(pkg, nested+"/"); ok {
			module, name = filepath.Join(module, nested), rest
			break
		}
	}
	path := filepath.Join(r.h.dir, fmt.Sprintf("%s-%d", strings.ReplaceAll(pkg, "/", "-"), len(r.h.programs)))
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", path, "./"+name)...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s %s: %w\n%s", args[0], pkg, err, out)
	}
	if r.h.programs == nil {
		r.h.programs = map[string]string{}
	}
	r.h.programs[key] = path
	return path, nil
}

// Dir returns a directory for files, which stay only with -keep.
func (r *Run) Dir() (string, error) {
	if r.h.Keep == "" {
		return os.MkdirTemp(r.h.dir, "run-")
	}
	dir := filepath.Join(r.h.Keep, fmt.Sprintf("%d-%s-%s", r.Round, r.Way, r.Load))
	return dir, os.MkdirAll(dir, 0o755)
}

// The kernel gives other ports to connections.
const firstPort, ports = 32000, 700

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(ports)) }

// FreeAddr returns an address of loopback on which nothing listens. It takes turns.
func FreeAddr() (addr string, err error) {
	for range ports {
		addr = fmt.Sprintf("127.0.0.1:%d", firstPort+nextPort.Add(1)%ports)
		var ln net.Listener
		if ln, err = net.Listen("tcp", addr); err == nil {
			return addr, ln.Close()
		}
	}
	return "", err
}

const AnyCore = -1

// Child is a program that a run has started.
type Child struct {
	*child.Child
	ctx context.Context // of the run, which ends waits for lines
}

// Start starts a program on one of the cores that may be used, counted from 0, or on [AnyCore]. It
// builds what has a name as [Run.Program] takes it. A file's path is absolute or begins with a dot.
func (r *Run) Start(ctx context.Context, core int, env []string, args ...string) (*Child, error) {
	if strings.Contains(args[0], "/") && args[0][0] != '/' && args[0][0] != '.' {
		program, err := r.Program(ctx, args[0])
		if err != nil {
			return nil, err
		}
		args = append([]string{program}, args[1:]...)
	}
	o := child.Options{Args: args, Env: env, StopTimeout: 5 * time.Second}
	if core != AnyCore {
		o.Launch = func(start func() error) error { return machine.Pinned(core, start) }
	}
	p, err := child.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Child{p, ctx}, nil
}

const stuck = time.Minute

func (c *Child) within(limit time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(c.ctx, limit, fmt.Errorf("it said no %s within %v", what, limit))
}

// Line returns the next line of standard output. It waits for a minute more than within.
func (c *Child) Line(within time.Duration) (string, error) {
	ctx, cancel := c.within(within+stuck, "line")
	defer cancel()
	return c.Child.Line(ctx)
}

// Take sets the values that the next line of a child has in JSON. It waits as [Child.Line] does.
func (r *Run) Take(c *Child, within time.Duration) error {
	text, err := c.Line(within)
	if err != nil {
		return err
	}
	var values map[string]float64
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return fmt.Errorf("%s says %q: %w", c.Name, text, err)
	}
	for name, x := range values {
		r.Set(name, x)
	}
	return nil
}

// Await waits for a minute for a line that matches, and returns the match of the last group.
func (c *Child) Await(pattern string) (match string, err error) {
	ctx, cancel := c.within(stuck, fmt.Sprintf("line like %q", pattern))
	defer cancel()
	return c.Child.Await(ctx, regexp.MustCompile(pattern))
}

// AwaitURL is Await for the url after a text such as msg=listening.
func (c *Child) AwaitURL(text string) (string, error) { return c.Await(text + ` url=(\S+)`) }

func (c *Child) Say(line string) error {
	_, err := io.WriteString(c.Input, line+"\n")
	return err
}

func Get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("%s: %s: %s", url, res.Status, b), err)
	}
	return b, err
}

// Wait waits for d. Its error says why ctx has ended before.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// Measure runs a load and sets requests, failed, late, requests/s, and p50, p99, p99.9 and max in
// ms. For all servers together it sets CPU µs/request, CPU (cores) and peak MB. An open loop sleeps
// in the kernel, so it gets one more processor than there are cores.
func (r *Run) Measure(ctx context.Context, o loadgen.Options, servers ...*Child) (*loadgen.Result, error) {
	o.Duration, o.Warmup = cmp.Or(o.Duration, r.Length), cmp.Or(o.Warmup, r.Warmup)
	if o.Open() && os.Getenv("GOMAXPROCS") == "" {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU() + 1))
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the client should seldom collect
	var before, after time.Duration
	var err error
	cpu := func(to *time.Duration) {
		for _, s := range servers {
			d, cerr := machine.CPUTime(s.Pid())
			*to, err = *to+d, cmp.Or(err, cerr)
		}
	}
	then := o.OnMeasure
	o.OnMeasure = func() {
		if then != nil {
			then()
		}
		cpu(&before)
	}
	res, lerr := loadgen.Run(ctx, o)
	if lerr != nil {
		return nil, lerr
	}
	cpu(&after)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	n, failed := res.Requests(), res.Failed
	for status, count := range res.Statuses {
		if status < 200 || status > 299 {
			failed += count
		}
	}
	r.Set("requests", float64(n))
	r.Set("failed", float64(failed))
	r.Set("late", float64(res.Late))
	r.Set("requests/s", res.Throughput())
	for name, q := range map[string]float64{"p50": .5, "p99": .99, "p99.9": .999, "max": 1} {
		r.Set(name, res.Latency.Quantile(q).Seconds()*1e3)
	}
	if len(servers) > 0 {
		used, peak := after-before, int64(0)
		for _, s := range servers {
			bytes, perr := machine.PeakRSS(s.Pid())
			peak, err = peak+bytes, cmp.Or(err, perr)
		}
		r.Set("CPU µs/request", float64(used.Nanoseconds())/1e3/float64(max(n, 1)))
		r.Set("CPU", used.Seconds()/o.Duration.Seconds())
		r.Set("peak MB", float64(peak)/1e6)
	}
	return res, err
}

// Until waits until does returns true, for a minute and until the child ends. what is what it does
// then, for the error.
func (c *Child) Until(ctx context.Context, what string, does func(context.Context) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("it does not "+what))
	defer cancel()
	for !does(ctx) {
		if c.Ended() {
			return errors.New("it ended, and did not " + what)
		}
		if err := Wait(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// Listens is Until for a server that listens at addr.
func (c *Child) Listens(ctx context.Context, addr string) error {
	return c.Until(ctx, "listen at "+addr, func(context.Context) bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// KeptBytes returns the server's bytes for each connection that has had an answer. The client opens
// them by [machine.Hold]. rest is how long the server has work after that.
func KeptBytes(srv, client *Child, conns int, rest time.Duration) (float64, error) {
	if _, err := client.Await("warm"); err != nil {
		return 0, err
	}
	before, err := srv.settled(rest)
	if err != nil {
		return 0, err
	}
	if err := client.Say(""); err != nil {
		return 0, err
	}
	if _, err := client.Await("held"); err != nil {
		return 0, err
	}
	after, err := srv.settled(rest)
	return float64(after-before) / float64(conns), err
}

func (c *Child) settled(rest time.Duration) (int64, error) {
	time.Sleep(rest)
	if err := c.Signal(syscall.SIGUSR1); err != nil {
		return 0, err
	}
	if _, err := c.Await("settled"); err != nil {
		return 0, err
	}
	return machine.OwnBytes(c.Pid())
}

// OwnRun is a run as evenkeel writes it.
type OwnRun struct {
	Load *loadgen.Result
	GC   *struct{ Summary gctrace.Summary } // of evenkeel run
}

// ReadRun reads the only run in a file that evenkeel load or evenkeel run has written.
func ReadRun(file string) (*OwnRun, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var f struct{ Runs []*OwnRun }
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if len(f.Runs) != 1 || f.Runs[0].Load == nil {
		return nil, fmt.Errorf("%s does not have one run with a load", file)
	}
	return f.Runs[0], nil
}
