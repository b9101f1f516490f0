//go:build linux

package main

import (
	"bufio"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/examples/child"
)

// Server and client have a core each.
const (
	serverCore = iota
	clientCore
)

// patience is how long a child may say nothing, beyond what it measures for.
const patience = time.Minute

// peer is a server or a client that the driver started.
type peer struct {
	*child.Child
	name string
	said *io.PipeReader
	read *bufio.Reader
	end  func() bool
}

func (d *driver) start(ctx context.Context, core int, name string, args ...string) (*peer, error) {
	r, w := io.Pipe()
	p := &peer{name: name, said: r, read: bufio.NewReader(r)}
	var err error
	p.Child, err = child.Start(ctx, child.Options{
		Args: append([]string{filepath.Join(d.bin, name)}, args...), Env: []string{"GOMAXPROCS=1"}, Input: true, Stdout: w, StopTimeout: 2 * time.Second,
		Launch: func(start func() error) error { return machine.Pinned(core, start) },
	})
	if err != nil {
		return nil, fmt.Errorf("%w: make bench-httpd builds it", err)
	}
	go func() {
		<-p.Exited()
		_ = w.Close()
	}()
	p.end = context.AfterFunc(ctx, func() { _ = r.CloseWithError(context.Cause(ctx)) })
	return p, nil
}

// stop ends the peer. How it ended says nothing: it was told to.
func (p *peer) stop() {
	p.end()
	_ = p.said.Close()
	_ = p.Stop()
}

// line returns the next line of the peer's output.
func (p *peer) line(within time.Duration) (string, error) {
	late := time.AfterFunc(within, func() { _ = p.said.CloseWithError(fmt.Errorf("it said nothing for %v", within)) })
	defer late.Stop()
	s, err := p.read.ReadString('\n')
	if err != nil {
		_, complaint := p.Output()
		return "", fmt.Errorf("%s: %w: %s", p.name, err, strings.TrimSpace(complaint))
	}
	return strings.TrimSpace(s), nil
}

// await waits for a line.
func (p *peer) await(want string) error {
	s, err := p.line(patience)
	if err == nil && s != want {
		err = fmt.Errorf("%s said %.80q instead of %q", p.name, s, want)
	}
	return err
}

// one is one run: a fresh server, a fresh client.
func (d *driver) one(ctx context.Context, server string, r row) (sample, error) {
	out := sample{Server: server, Row: r.name}
	srv, err := d.start(ctx, serverCore, "server", "-kind", server, "-tls="+strconv.FormatBool(r.tls), "-h2="+strconv.FormatBool(r.h2))
	if err != nil {
		return out, err
	}
	defer srv.stop()
	out.Unready = true
	addr, err := srv.line(patience)
	if err != nil {
		return out, err
	}
	out.Unready = false
	if err := reachable(ctx, addr); err != nil {
		return out, err
	}
	client, err := d.start(ctx, clientCore, "client", "-addr", addr, "-pid", strconv.Itoa(srv.Pid()), "-load", r.load, "-path", r.path,
		"-tls="+strconv.FormatBool(r.tls), "-h2="+strconv.FormatBool(r.h2), "-classic="+strconv.FormatBool(r.classic), "-crowd", r.crowd,
		"-conns", strconv.Itoa(r.conns), "-warmup", d.warmup.String(), "-length", d.length.String())
	if err != nil {
		return out, err
	}
	defer client.stop()
	if r.load == "hold" {
		if out.Bytes, err = d.hold(srv, client, r.conns); err != nil {
			return out, err
		}
	}
	text, err := client.line(patience + d.warmup + d.length)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal([]byte(text), &out.Result); err != nil {
		return out, err
	}
	if out.Gone {
		_, complaint := srv.Output()
		return out, fmt.Errorf("the server ended while it was loaded, %d requests or connections without an answer: %s", out.Failed, strings.TrimSpace(complaint))
	}
	return out, nil
}

// reachable waits until something listens: some servers do so after they have said where.
func reachable(ctx context.Context, addr string) error {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return c.Close()
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// hold returns the bytes that a connection which has had an answer keeps in the server. Those before them have had the code and fixed
// pools brought in.
func (d *driver) hold(srv, client *peer, conns int) (float64, error) {
	if err := client.await("warm"); err != nil {
		return 0, err
	}
	before, err := d.settled(srv)
	if err != nil {
		return 0, err
	}
	if _, err := io.WriteString(client.Input, "\n"); err != nil {
		return 0, err
	}
	if err := client.await("held"); err != nil {
		return 0, err
	}
	after, err := d.settled(srv)
	if err != nil {
		return 0, err
	}
	_, err = io.WriteString(client.Input, "\n")
	return (after - before) / float64(conns), err
}

// settled has the server give back what it does not need, and returns the bytes of its own pages.
func (d *driver) settled(srv *peer) (float64, error) {
	time.Sleep(d.rest) // workers that nobody needs end, half of them each second
	if err := srv.Signal(syscall.SIGUSR1); err != nil {
		return 0, err
	}
	if err := srv.await("settled"); err != nil {
		return 0, err
	}
	n, err := machine.OwnBytes(srv.Pid())
	return float64(n), err
}

// peers returns the versions of the modules that are measured beside this one.
func (d *driver) peers() map[string]string {
	versions := map[string]string{}
	info, err := buildinfo.ReadFile(filepath.Join(d.bin, "server"))
	if err != nil {
		return versions
	}
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/valyala/fasthttp", "github.com/panjf2000/gnet/v2", "github.com/lesismal/nbio", "github.com/cloudwego/hertz":
			versions[m.Path] = m.Version
		}
	}
	return versions
}
