//go:build linux

// Command client loads an echo server, and prints what it measured as a line of JSON: values by the
// names of the bench's figures. It is the same for every server: one thread that polls without
// sleeping, everything allocated before the measured time, and no garbage collection in it.
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
	"unsafe"

	"evenkeel.dev/loadgen"
)

// config is what the client is told.
type config struct {
	addr   string
	to     syscall.SockaddrInet4 // addr
	conns  int
	size   int
	count  int // of what the load counts, if it measures no time
	length time.Duration
	warmup time.Duration
	pid    int
	trace  bool
}

// patience is how long no answer may arrive.
const patience = 30 * time.Second

// values are what was measured, by the names of figures.
type values map[string]float64

// loads are what the client does, by -load.
var loads = map[string]func(*config) (values, error){
	"pingpong": pingpong, "burst": burst, "hold": hold,
	"bulk": bulk, "closed": closed, "drain": drain, "reads": reads, "silent": silent, "unread": unread,
}

// keeping are the loads whose connections stay open until the input ends.
var keeping = []string{"drain", "silent"}

func main() {
	log.SetFlags(0)
	runtime.LockOSThread() // the loop stays on its thread, which keeps the processor's cache
	var c config
	load := flag.String("load", "pingpong", "one of "+strings.Join(slices.Sorted(maps.Keys(loads)), ", "))
	flag.StringVar(&c.addr, "addr", "", "`address` of the server")
	flag.IntVar(&c.conns, "conns", 1, "connections")
	flag.IntVar(&c.size, "size", 64, "`bytes` of a message, 16 at least; of reads 0: several sizes in turn")
	flag.IntVar(&c.count, "count", 0, "`count` of what closed, drain and reads do")
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
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil || !slices.Contains(keeping, load) {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// still ends the set-up: nothing is collected from now on.
func still() {
	runtime.GC()
	debug.SetGCPercent(-1)
}

// latencies adds what h says, in milliseconds.
func (v values) latencies(h *loadgen.Histogram) values {
	for name, q := range map[string]float64{"p50": .5, "p99": .99, "p99.9": .999, "max": 1} {
		v[name] = milliseconds(h.Quantile(q))
	}
	return v
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// cpuTime returns the CPU time of all threads that the process has had, in nanoseconds. The clock
// of another process is what clock_getcpuclockid(3) names, because /proc counts in ticks.
func cpuTime(pid int) (int64, error) {
	const sched = 2 // CPUCLOCK_SCHED
	var t syscall.Timespec
	_, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|sched), uintptr(unsafe.Pointer(&t)), 0)
	if e != 0 {
		return 0, fmt.Errorf("the CPU clock of process %d: %w", pid, e)
	}
	return t.Nano(), nil
}
