//go:build linux

// Command httpd measures package httpd beside net/http and its peers: the same client, each server in a process of its own
// on a core of its own, in interleaved rounds. make bench-httpd runs it.
//
//	go run ./httpd                     # all rows: figures with targets, raw results
//	go run ./httpd -quick              # some minutes; too few rounds for verdicts, nothing kept
//	go run ./httpd -only idle,burst -servers nethttp,httpd-epoll
//	go run ./httpd -only hostile       # attacks: the server's memory, and what others get meanwhile
//	go run ./httpd -judge results/httpd-DATE.json   # its figures again, from its raw results; -w: into the file
//
// celeris is not among the servers: no module resolved under the paths that were tried.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/bench/httpd/wire"
	"evenkeel.dev/bench/machine"
)

// servers are the kinds of command server. gnet is raw: it finds the end of a request and parses nothing.
var servers = []string{base, "httpd-epoll", "httpd-uring", "fasthttp", "gnet", "nbio", "hertz"}

const base = "nethttp" // what the targets are about

// sample is one run.
type sample struct {
	Server string  `json:"server"`
	Row    string  `json:"row"`
	Round  int     `json:"round"`
	Bytes  float64 `json:"bytes,omitempty"` // of an idle connection
	wire.Result
	Error   string `json:"error,omitempty"`   // why the run failed; what was measured of it counts for nothing else
	Unready bool   `json:"unready,omitempty"` // it failed before the server listened: the system has no io_uring, say
}

// failure is the line of a failed run.
func (s sample) failure() string {
	return fmt.Sprintf("round %d: %s: %s: %s", s.Round, s.Server, s.Row, s.Error)
}

type driver struct {
	bin      string
	rounds   int
	length   time.Duration
	warmup   time.Duration
	rest     time.Duration // before memory is looked at
	patience time.Duration // for others who use the machine, before each row
	most     int           // connections of a row; 0: as many as it has
	rows     []row
	servers  []string
	out      io.Writer
	samples  []sample
	failed   []sample
}

func main() {
	log.SetFlags(0)
	d := &driver{warmup: 300 * time.Millisecond, rest: 3 * time.Second, patience: 2 * time.Minute, out: os.Stdout}
	flag.StringVar(&d.bin, "bin", "../bin/httpd", "`folder` of the built server and client")
	results := flag.String("results", "results", "`folder` for the raw results; empty: keep none")
	flag.IntVar(&d.rounds, "rounds", 10, "interleaved rounds")
	flag.DurationVar(&d.length, "length", 3*time.Second, "length of what is measured of a load")
	quick := flag.Bool("quick", false, "two short rounds")
	only := flag.String("only", "", "comma-separated `rows` (default: all)")
	kinds := flag.String("servers", "", "comma-separated `servers` of these: "+strings.Join(servers, ", ")+" (default: all)")
	var again figure.Again
	again.Flags(flag.CommandLine)
	flag.Parse()
	if *quick {
		d.rounds, d.length, d.patience, *results = 2, time.Second, 0, ""
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if again.File != "" {
		err = again.Judge("httpd", os.Stdout, judge)
	} else if err = d.choose(*only, *kinds); err == nil {
		err = d.bench(ctx, *results)
	}
	stop()
	if err != nil {
		log.Fatal("bench-httpd: ", err)
	}
}

// choose takes the rows and servers of these names, or all.
func (d *driver) choose(only, kinds string) error {
	d.rows, d.servers = rows, servers
	if only != "" {
		d.rows = nil
		for name := range strings.SplitSeq(only, ",") {
			some, err := rowsNamed(name)
			if err != nil {
				return err
			}
			d.rows = append(d.rows, some...)
		}
	}
	if kinds != "" {
		d.servers = strings.Split(kinds, ",")
		for _, name := range d.servers {
			if !slices.Contains(servers, name) {
				return fmt.Errorf("-servers %s is none; there are %s", name, strings.Join(servers, ", "))
			}
		}
	}
	return nil
}

// bench measures, shows and keeps what came out; also what came out before an interrupt.
func (d *driver) bench(ctx context.Context, results string) error {
	if err := errors.Join(d.raiseFiles(), figure.CheckSave(results)); err != nil {
		return err
	}
	set := figure.New("httpd")
	set.Out = d.out
	set.Machine = figure.Machine()
	set.Versions["peers"] = d.peers()
	err := d.measure(ctx)
	if len(d.samples)+len(d.failed) == 0 {
		return errors.Join(err, errors.New("nothing was measured"))
	}
	set.Raw["runs"] = d.samples
	if len(d.failed) > 0 {
		set.Raw["failed"] = d.failed
	}
	tables(d.samples, d.out)
	figures(set, d.samples, d.failed)
	if results != "" {
		err = errors.Join(err, set.Save(results))
	}
	if n := len(d.failed); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d runs failed, as said above", n))
	}
	return err
}

// measure runs all rounds. Neighbours are the servers of one row, in an order drawn by lot. A run that fails is said, and the others go on.
func (d *driver) measure(ctx context.Context) error {
	for round := 1; round <= d.rounds; round++ {
		start := time.Now()
		for _, r := range d.rows {
			if d.patience > 0 {
				if err := machine.AwaitQuiet(ctx, d.patience, d.out); err != nil {
					return err
				}
			}
			if d.most > 0 {
				r.conns = min(r.conns, d.most)
			}
			for _, i := range rand.Perm(len(d.servers)) {
				server := d.servers[i]
				if !r.of(server) {
					continue
				}
				s, err := d.one(ctx, server, r)
				if ctx.Err() != nil {
					return fmt.Errorf("interrupted in round %d of %d", round, d.rounds)
				}
				s.Round = round
				if err != nil {
					s.Error = err.Error()
					d.failed = append(d.failed, s)
					continue
				}
				d.samples = append(d.samples, s)
			}
		}
		fmt.Fprintf(d.out, "round %d of %d: %v\n", round, d.rounds, time.Since(start).Round(time.Second))
	}
	return nil
}

// raiseFiles raises the soft limit on open files to the hard one, which children inherit.
func (d *driver) raiseFiles() error {
	need := uint64(0)
	for _, row := range d.rows {
		need = max(need, uint64(row.conns)+512)
	}
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return err
	}
	if r.Max < need {
		return fmt.Errorf("the rows need %d descriptors and the hard limit is %d: raise it with ulimit -Hn, or take others by -only", need, r.Max)
	}
	r.Cur = r.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &r)
}
