//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
)

const (
	edge    = 200 * time.Millisecond // load before the trace and after it
	timeout = time.Minute            // of a request: one that fails spoils a run, one that is late does not
	rare    = 30                     // one of so many requests is a large one
)

// taken is what one run of a program left, and what evenkeel explain would have seen of the machine beside it.
type taken struct {
	trace  []byte
	beside reqtrace.Beside
	waited float64 // part of the time in which a thread of the machine waited for a processor
	err    error
}

// write keeps a trace, and what was seen beside it in a file of its own.
func (t *taken) write(name string) error {
	b, err := json.Marshal(t.beside)
	return errors.Join(err, os.WriteFile(name, t.trace, 0o644), os.WriteFile(name+".beside", b, 0o644))
}

// readTaken reads what write wrote; of traces that were kept before there was more than those, nothing is known of the machine.
func readTaken(name string) (t taken, err error) {
	if t.trace, err = os.ReadFile(name); err != nil {
		return t, err
	}
	b, err := os.ReadFile(name + ".beside")
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	return t, errors.Join(err, json.Unmarshal(b, &t.beside))
}

// run puts the load on a program and takes a trace meanwhile, with a CPU profile beside it, so that its samples are in it.
func (l *load) run(ctx context.Context, p *program, length, warmup time.Duration) (taken, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan taken, 1)
	o := loadgen.Options{
		Rate: 200, Duration: length + 3*edge, Warmup: warmup, Connections: 400, Timeout: timeout,
		OnMeasure: func() {
			go func() {
				time.Sleep(edge)
				go l.stopAndGo(ctx, p)
				go l.writeAndSync(ctx, p.dir)
				go l.upload(ctx, p)
				begin := time.Now()
				before, err := machine.ReadTimes()
				waited, err2 := machine.CPUPressure()
				threads := machine.WatchThreads(p.Pid())
				trace, err3 := fetch(ctx, p.admin, length)
				after, err4 := machine.ReadTimes()
				waits, err5 := machine.CPUPressure()
				beside := reqtrace.Beside{Steal: after.StealSince(before), CPU: threads()}
				pressure := min(float64(waits-waited)/float64(time.Since(begin)), 1)
				done <- taken{trace, beside, pressure, errors.Join(err, err2, err3, err4, err5)}
			}()
		},
	}
	if l.rate > 0 {
		o.Rate = l.rate
	}
	end, err := l.aim(&o, p)
	if err != nil {
		return taken{}, err
	}
	defer end()
	r, err := loadgen.Run(ctx, o)
	switch {
	case err != nil:
		return taken{}, err
	case r.Failed > 0 || !l.grpc && r.Statuses[http.StatusOK] != r.Answered:
		return taken{}, fmt.Errorf("%d requests failed: %v, statuses %v", r.Failed, r.Failures, r.Statuses)
	}
	select {
	case t := <-done:
		return t, t.err
	case <-ctx.Done():
		return taken{}, ctx.Err()
	}
}

// aim has the load go to a program. The caller calls end after it.
func (l *load) aim(o *loadgen.Options, p *program) (end func(), err error) {
	if l.grpc {
		return l.call(o, p)
	}
	url := "http://" + p.addr
	o.Targets = []loadgen.Target{{URL: url + l.small, Weight: rare - 1}}
	if l.large != "" {
		o.Targets = append(o.Targets, loadgen.Target{URL: url + l.large})
	}
	if l.http2 {
		o.Protocol, o.Connections, o.Streams = loadgen.ProtocolHTTP2, 4, 100
	}
	return func() {}, nil
}

// call has the load be calls over gRPC.
func (l *load) call(o *loadgen.Options, p *program) (end func(), err error) {
	conn, err := grpc.NewClient(p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(plain{})))
	if err != nil {
		return nil, err
	}
	var calls [400]int // of each worker
	o.Call = func(ctx context.Context, worker int) error {
		calls[worker]++
		method, body := l.small, l.bodies[0]
		if (calls[worker]+worker)%rare == 0 && l.large != "" {
			method, body = l.large, l.bodies[1]
		}
		var answer []byte
		return conn.Invoke(ctx, method, body, &answer)
	}
	return func() { conn.Close() }, nil
}

// plain is a codec for messages that are encoded already.
type plain struct{}

func (plain) Name() string { return "proto" }

func (plain) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (plain) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(b)
	return nil
}

// stopAndGo stops the program now and then, until ctx ends, as a machine does that stands still.
func (l *load) stopAndGo(ctx context.Context, p *program) {
	if l.freeze == 0 {
		return
	}
	for t := time.Tick(500 * time.Millisecond); ; {
		select {
		case <-t:
		case <-ctx.Done():
			return
		}
		if p.Signal(syscall.SIGSTOP) != nil {
			return
		}
		time.Sleep(l.freeze)
		if p.Signal(syscall.SIGCONT) != nil {
			return
		}
	}
}

// writeAndSync writes to the disk that holds dir, until ctx ends: a sync of others waits behind it.
func (l *load) writeAndSync(ctx context.Context, dir string) {
	if !l.dirty {
		return
	}
	f, err := os.Create(filepath.Join(dir, "others"))
	if err != nil {
		return
	}
	defer f.Close()
	for b := make([]byte, 64<<20); ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
		if _, err := f.WriteAt(b, 0); err != nil || f.Sync() != nil {
			return
		}
	}
}

// upload posts bodies that come in pieces, seven a second until ctx ends.
func (l *load) upload(ctx context.Context, p *program) {
	if !l.drip {
		return
	}
	for t := time.Tick(time.Second / 7); ; {
		select {
		case <-t:
		case <-ctx.Done():
			return
		}
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
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.addr+l.small, body)
			if err != nil {
				return
			}
			if res, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}()
	}
}

// fetch takes a trace, and meanwhile a CPU profile that begins before it and is ended after it: its own request would be a slow
// one else.
func fetch(ctx context.Context, addr string, length time.Duration) ([]byte, error) {
	ctx, end := context.WithCancelCause(ctx)
	profiled := make(chan struct{})
	go func() { // in whole seconds, as of others net/http/pprof makes half a minute; and for longer than a program may need to begin the trace
		defer close(profiled)
		_, err := get(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, (timeout+length)/time.Second))
		end(errors.Join(errors.New("the CPU profile ended before the trace did"), err))
	}()
	time.Sleep(edge)
	trace, err := get(ctx, fmt.Sprintf("http://%s/debug/pprof/trace?seconds=%g", addr, length.Seconds()))
	early := context.Cause(ctx)
	end(nil)
	<-profiled
	if early != nil {
		return nil, early
	}
	return trace, err
}

func get(ctx context.Context, url string) ([]byte, error) {
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
