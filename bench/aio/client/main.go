// Command client loads an echo server over raw epoll, and prints what it measured as a line of
// JSON. It is the same for every server: one thread that polls without sleeping, everything
// allocated before the measured time, no garbage collection in it.
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

	"evenkeel.dev/bench/aio/wire"
)

// config is what the client is told.
type config struct {
	to       syscall.SockaddrInet4
	conns    int
	first    int // hold: connections before the others, to warm the server up
	size     int
	length   time.Duration
	warmup   time.Duration
	traced   time.Duration
	patience time.Duration
	pid      int
	mark     bool
	n        int // of what the load counts, where no time is measured
}

// loads are what the client does, by -load.
var loads = map[string]func(config) (*wire.Result, error){
	"pingpong": pingpong, "echo": echo, "burst": burst, "hold": hold,
	"bulk": bulk, "closed": closed, "drain": drain, "reads": reads, "silent": silent, "unread": unread,
}

// sizeless are the loads that send no messages, or some of several sizes.
var sizeless = []string{"silent", "reads"}

// untilTold are the loads whose connections stay open, when all is said, until the input ends.
var untilTold = []string{"drain", "silent"}

func main() {
	log.SetFlags(0)
	runtime.LockOSThread() // the loop stays on its thread, and so do the cache and its turn
	var c config
	addr := flag.String("addr", "", "`address` of the server")
	load := flag.String("load", "pingpong", "one of "+strings.Join(slices.Sorted(maps.Keys(loads)), ", "))
	flag.IntVar(&c.conns, "conns", 1, "connections")
	flag.IntVar(&c.first, "first", 100, "of hold: connections before those")
	flag.IntVar(&c.size, "size", 64, "`bytes` of a message, 16 at least; of reads 0: some of several sizes in turn")
	flag.IntVar(&c.n, "n", 0, "`count` of what closed, drain and reads do")
	flag.DurationVar(&c.length, "length", time.Second, "measured `time`")
	flag.DurationVar(&c.warmup, "warmup", 200*time.Millisecond, "load before the measured time")
	flag.DurationVar(&c.traced, "traced", 0, "load after it, in which the server's system calls are counted")
	flag.DurationVar(&c.patience, "patience", 30*time.Second, "give up when no answer arrives for this `time`")
	flag.IntVar(&c.pid, "pid", 0, "process `id` of the server, to read its CPU time")
	flag.BoolVar(&c.mark, "mark", false, "send the server SIGUSR2 before the measured time and SIGWINCH after it")
	flag.Parse()
	if err := run(c, *addr, *load); err != nil {
		log.Fatalf("client: %s: %v", *load, err)
	}
}

func run(c config, addr, load string) error {
	a, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	c.to.Port = a.Port
	copy(c.to.Addr[:], a.IP.To4())
	if c.size < 16 && (c.size != 0 || !slices.Contains(sizeless, load)) || c.conns < 1 {
		return errors.New("-size is 16 at least, -conns 1")
	}
	if err := raiseFiles(c.conns + c.first + 64); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	do := loads[load]
	if do == nil {
		return errors.New("not a load: -help names them")
	}
	r, err := do(c)
	if err != nil || r == nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil || !slices.Contains(untilTold, load) {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// still ends the set-up: from here on nothing is collected.
func still() {
	runtime.GC()
	debug.SetGCPercent(-1)
}

// raiseFiles raises the soft limit on open files to the hard one, and says so when that is not
// enough.
func raiseFiles(need int) error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return err
	}
	if r.Max < uint64(need) {
		return fmt.Errorf("%d descriptors are needed and the hard limit is %d: raise it with ulimit -Hn as root, or in /etc/security/limits.conf", need, r.Max)
	}
	r.Cur = r.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r)
}

// cpuTime returns the CPU time of all threads that the process has had, in nanoseconds. The
// clock of another process is what clock_getcpuclockid(3) names: /proc counts in ticks.
func cpuTime(pid int) (int64, error) {
	if pid == 0 {
		return 0, nil
	}
	const sched = 2 // CPUCLOCK_SCHED
	var t syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(^pid<<3|sched), uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		return 0, fmt.Errorf("the CPU clock of process %d: %w", pid, e)
	}
	return t.Nano(), nil
}
