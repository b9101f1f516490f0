package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// server is one of those that are compared.
type server struct {
	name string
	kind string // of command server; empty: cepoll
	args []string
	note string // in a table
	info bool   // only in the workloads of idle connections and of ping-pong
	rare bool   // only in workloads that name it
}

// The servers by the names that flags and results use.
const (
	raw      = "raw"
	std      = "std"
	gaio     = "gaio"
	gnet     = "gnet"
	cepoll   = "cepoll"
	aioEpoll = "aio-epoll"
	aioURing = "aio-io_uring"
	overGaio = "+gaio" // suffix of an aio server that works through aio/gaio, by net.Conn
)

var allServers = []server{
	{name: raw, kind: "raw", note: "accept4 in a loop", rare: true},
	{name: std, kind: "std", note: "net, a goroutine each"},
	{name: gaio, kind: "gaio"},
	{name: gnet, kind: "gnet"},
	{name: "nbio", kind: "nbio"},
	{name: "netpoll", kind: "netpoll"},
	{name: cepoll, note: "C, the limit"},
	{name: aioEpoll, kind: "aio", args: []string{"-backend", "epoll"}},
	{name: aioURing, kind: "aio", args: []string{"-backend", "io_uring"}},
	{name: aioEpoll + overGaio, kind: "aio", args: []string{"-backend", "epoll", "-gaio"}, info: true},
	{name: aioURing + overGaio, kind: "aio", args: []string{"-backend", "io_uring", "-gaio"}, info: true},
}

// peersOnly are those that the 64 KiB echo is compared with. C is the limit, no peer.
var peersOnly = []string{std, gaio, gnet, "nbio", "netpoll"}

func names(ss []server) (all []string) {
	for _, s := range ss {
		all = append(all, s.name)
	}
	return all
}

// argv returns the command line of s. Buffers are what each workload needs and the library
// recommends: gaio and std always have one for each connection, which aio does too where
// messages are large. Idle connections use the shared buffer where the library has one.
func (d *driver) argv(s server, p point) []string {
	if r, ok := rows[p.workload]; ok {
		return d.rowArgv(s, r, p)
	}
	if s.kind == "" {
		return []string{d.path("cepoll")}
	}
	argv := append([]string{d.path("server"), "-kind", s.kind}, s.args...)
	buf := 4096
	switch {
	case p.workload == "echo64k":
		buf = p.size
	case s.kind == "gaio" && p.workload == "idle", s.kind == "aio" && d.swap, s.kind == "aio" && p.workload == "idle":
		buf = 0
	}
	argv = append(argv, "-buf", fmt.Sprint(buf))
	if p.workload == "sleeper" {
		argv = append(argv, "-sleeper")
	}
	return argv
}

// findDefault asks which backend aio chooses where none is named: io_uring shows as a descriptor.
func (d *driver) findDefault(ctx context.Context) error {
	d.raw.Default = aioEpoll
	if !slices.ContainsFunc(d.servers, func(s server) bool { return s.kind == "aio" }) {
		return nil
	}
	s := server{name: "aio-auto", kind: "aio", args: []string{"-backend", "auto"}}
	c, err := d.start(ctx, d.argv(s, point{}), 0)
	if err != nil {
		return fmt.Errorf("aio's default backend is not known: %w", err)
	}
	defer c.end()
	if _, err := c.line(ctx, stuck); err != nil {
		return fmt.Errorf("aio's default backend is not known: %w", err)
	}
	fds := fmt.Sprintf("/proc/%d/fd", c.Pid())
	entries, err := os.ReadDir(fds)
	for _, e := range entries {
		to, _ := os.Readlink(fds + "/" + e.Name()) // it may have been closed
		if strings.Contains(to, "io_uring") {
			d.raw.Default = aioURing
		}
	}
	return err
}

// peers names the versions of what is compared.
func peers() any {
	out, err := exec.Command("go", "list", "-m", "github.com/xtaci/gaio", "github.com/panjf2000/gnet/v2",
		"github.com/lesismal/nbio", "github.com/cloudwego/netpoll").Output()
	if err != nil {
		return err.Error()
	}
	v := strings.Split(strings.TrimSpace(string(out)), "\n")
	if out, err := exec.Command("cc", "--version").Output(); err == nil {
		first, _, _ := strings.Cut(string(out), "\n")
		v = append(v, first)
	}
	return v
}
