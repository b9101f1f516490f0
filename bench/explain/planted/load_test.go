//go:build linux

package planted

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	sys "syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
)

// load is what a program is put under: requests at fixed times.
type load struct {
	protocol     string        // http, h2, x/net or grpc; default: http
	rate         float64       // per second; default: 200
	small, large string        // paths, or a method of gRPC; default: those of planted
	body         string        // of a call over gRPC
	alike        bool          // the large requests are small ones
	uploads      bool          // some clients upload, and send their bodies in pieces
	dirty        bool          // another program writes to the same disk and syncs
	freeze       time.Duration // the program is stopped so long, twice a second
	procs        string        // GOMAXPROCS; default: that of the run
	env          []string
}

const (
	edge    = 200 * time.Millisecond // load before the trace and after it
	timeout = time.Minute            // of a request: one that fails spoils a run, one that is late does not
	rare    = 30                     // one of so many requests is a large one
	workers = 400
)

// taken is a trace, and what evenkeel explain would have seen of the machine during it.
type taken struct {
	trace  []byte
	beside cpuwatch.Beside
	err    error
}

// report analyzes the trace.
func (t *taken) report(ctx context.Context) (*reqtrace.Report, error) {
	return reqtrace.Analyze(ctx, bytes.NewReader(t.trace), reqtrace.Options{Beside: &t.beside})
}

// program is one that runs.
type program struct {
	*harness.Child
	addr, admin, dir string
}

// start starts a plant's program. The caller calls end.
func (p *plant) start(ctx context.Context, r *harness.Run, env []string) (c *program, end func(), err error) {
	path, err := r.TestProgram(ctx, "bench/explain/planted")
	if p.program != "" {
		path, err = r.Program(ctx, p.program)
	}
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "explain-")
	if err != nil {
		return nil, nil, err
	}
	env = slices.Concat(env, p.load.env, []string{"PLANT=" + p.name, "PROTOCOL=" + p.load.protocol, "DIR=" + dir})
	if p.load.procs != "" {
		env = append(env, "GOMAXPROCS="+p.load.procs)
	}
	child, err := r.Start(ctx, harness.AnyCore, env, path)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	end = func() { child.Stop(); _ = os.RemoveAll(dir) }
	c = &program{Child: child, dir: dir}
	text, err := child.Await("listening on (.*)")
	if err == nil {
		_, err = fmt.Sscan(text, &c.addr, &c.admin)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return c, end, nil
}

// traced starts a plant's program, loads it and takes a trace.
func (p *plant) traced(ctx context.Context, r *harness.Run, env ...string) (*taken, error) {
	c, end, err := p.start(ctx, r, env)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &p.load
	done := make(chan *taken, 1)
	o := loadgen.Options{
		Rate: cmp.Or(l.rate, 200), Duration: r.Length + 3*edge, Warmup: r.Warmup, Connections: workers,
		Timeout: timeout,
		OnMeasure: func() {
			go func() {
				time.Sleep(edge)
				go l.stopAndGo(ctx, c)
				go l.writeAndSync(ctx, c.dir)
				go l.upload(ctx, c)
				t := &taken{}
				before, err := machine.ReadTimes()
				watch, _ := cpuwatch.Start(c.Pid(), true) // without the quota it has the threads
				t.trace, t.err = fetch(ctx, c.admin, r.Length)
				t.beside.CPU = watch.End()
				after, err2 := machine.ReadTimes()
				t.beside.Steal = after.StealSince(before)
				t.err = errors.Join(t.err, err, err2)
				done <- t
			}()
		},
	}
	if l.protocol == "grpc" {
		conn, err := l.calls(&o, c)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
	} else {
		l.requests(&o, c)
	}
	res, err := loadgen.Run(ctx, o)
	switch {
	case err != nil:
		return nil, err
	case res.Failed > 0 || l.protocol != "grpc" && res.Statuses[http.StatusOK] != res.Answered:
		return nil, fmt.Errorf("%d requests failed: %v, statuses %v", res.Failed, res.Failures, res.Statuses)
	}
	select {
	case t := <-done:
		return t, t.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// requests has the load be requests of HTTP.
func (l *load) requests(o *loadgen.Options, c *program) {
	large := l.large
	if l.small == "" && !l.alike {
		large = cmp.Or(large, "/large")
	}
	o.Targets = []loadgen.Target{{URL: "http://" + c.addr + cmp.Or(l.small, "/small"), Weight: rare - 1}}
	if large != "" {
		o.Targets = append(o.Targets, loadgen.Target{URL: "http://" + c.addr + large})
	}
	if l.protocol != "" {
		o.Protocol, o.Connections, o.Streams = loadgen.ProtocolHTTP2, 4, 100
	}
}

// calls has the load be calls over gRPC.
func (l *load) calls(o *loadgen.Options, c *program) (io.Closer, error) {
	conn, err := grpc.NewClient(
		c.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(plain{})),
	)
	method, body := cmp.Or(l.small, "/bench.Planted/Do"), []byte(cmp.Or(l.body, "\x0a\x05small"))
	var calls [workers]int
	o.Call = func(ctx context.Context, worker int) error {
		calls[worker]++
		send := body
		if l.body == "" && !l.alike && (calls[worker]+worker)%rare == 0 {
			send = []byte("\x0a\x05large")
		}
		var answer []byte
		return conn.Invoke(ctx, method, send, &answer)
	}
	return conn, err
}

// stopAndGo stops the program now and then, until ctx ends, as a machine does that stands still.
func (l *load) stopAndGo(ctx context.Context, c *program) {
	for l.freeze > 0 && harness.Wait(ctx, 500*time.Millisecond) == nil {
		if c.Signal(sys.SIGSTOP) != nil {
			return
		}
		time.Sleep(l.freeze)
		if c.Signal(sys.SIGCONT) != nil {
			return
		}
	}
}

// writeAndSync writes to the disk that holds dir, until ctx ends. Syncs of others wait behind it.
func (l *load) writeAndSync(ctx context.Context, dir string) {
	if !l.dirty {
		return
	}
	f, err := os.Create(filepath.Join(dir, "others"))
	if err != nil {
		return
	}
	defer f.Close()
	for b := make([]byte, 64<<20); harness.Wait(ctx, 500*time.Millisecond) == nil; {
		if _, err := f.WriteAt(b, 0); err != nil || f.Sync() != nil {
			return
		}
	}
}

// upload posts bodies that come in pieces, seven per second until ctx ends.
func (l *load) upload(ctx context.Context, c *program) {
	for l.uploads && harness.Wait(ctx, time.Second/7) == nil {
		go func() {
			body, w := io.Pipe()
			go func() {
				for range 4 {
					time.Sleep(delay / 3)
					if _, err := w.Write(make([]byte, 4096)); err != nil {
						return
					}
				}
				w.Close()
			}()
			if res, err := http.Post("http://"+c.addr+"/small", "", body); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}()
	}
}

// fetch takes a trace, and a CPU profile that begins before it and ends after it. Otherwise the
// profile's own request would be a slow one.
func fetch(ctx context.Context, addr string, length time.Duration) ([]byte, error) {
	ctx, end := context.WithCancelCause(ctx)
	profiled := make(chan struct{})
	// net/http/pprof takes whole seconds. The program may need some to begin the trace.
	seconds := (timeout + length) / time.Second
	go func() {
		defer close(profiled)
		_, err := harness.Get(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, seconds))
		end(errors.Join(errors.New("the CPU profile ended before the trace did"), err))
	}()
	time.Sleep(edge)
	trace, err := harness.Get(ctx, fmt.Sprintf("http://%s/debug/pprof/trace?seconds=%g", addr, length.Seconds()))
	early := context.Cause(ctx)
	end(nil)
	<-profiled
	if early != nil {
		return nil, early
	}
	return trace, err
}
