//go:build linux

// Command client loads an echo server, and prints values by figure in JSON. It is one thread that
// polls without sleeping. During the measured time it does not collect.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/loadgen"
)

type config struct {
	addr   string
	to     syscall.SockaddrInet4 // addr
	conns  int
	size   int
	length time.Duration
	warmup time.Duration
	pid    int
	trace  bool
}

// longest time without any answer
const patience = 30 * time.Second

type values map[string]float64

var loads = map[string]func(*config) (values, error){
	"pingpong": pingpong, "burst": burst, "hold": hold,
	"bulk": bulk, "silent": silent,
}

func main() {
	log.SetFlags(0)
	runtime.LockOSThread() // keeps the processor's cache
	var c config
	load := flag.String("load", "pingpong", "one of "+strings.Join(slices.Sorted(maps.Keys(loads)), ", "))
	flag.StringVar(&c.addr, "addr", "", "`address` of the server")
	flag.IntVar(&c.conns, "conns", 1, "connections")
	flag.IntVar(&c.size, "size", 64, "`bytes` of a message, 16 at least")
	flag.DurationVar(&c.length, "length", time.Second, "measured `time`")
	flag.DurationVar(&c.warmup, "warmup", 200*time.Millisecond, "load before the measured time")
	flag.IntVar(&c.pid, "pid", 0, "process `id` of the server, to read its CPU time")
	flag.BoolVar(&c.trace, "trace", false, "of pingpong: count the server's system calls after the measured time")
	flag.Parse()
	if err := run(&c, *load); err != nil {
		log.Fatalf("client: %s: %v", *load, err)
	}
}

func run(c *config, load string) error {
	a, err := net.ResolveTCPAddr("tcp4", c.addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	c.to.Port = a.Port
	copy(c.to.Addr[:], a.IP.To4())
	do := loads[load]
	switch {
	case do == nil:
		return errors.New("not a load: -help names them")
	case c.size < 16 && c.size != 0 || c.conns < 1:
		return errors.New("-size is 16 at least, -conns 1")
	}
	v, err := do(c)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil || load != "silent" {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin) // it keeps its connections
	return err
}

// quiesce ends the set-up. Nothing is collected after it.
func quiesce() {
	runtime.GC()
	debug.SetGCPercent(-1)
}

func (v values) latencies(h *loadgen.Histogram) values {
	for name, q := range map[string]float64{"p50": .5, "p99": .99, "p99.9": .999, "max": 1} {
		v[name] = milliseconds(h.Quantile(q))
	}
	return v
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
