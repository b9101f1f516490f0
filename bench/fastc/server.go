//go:build cgo && unix

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"evenkeel.dev/bench/fastc/ginlog"
	"evenkeel.dev/bench/figure"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/examples/child"
	"evenkeel.dev/loadgen"
)

// layout says which cores server and client may use, of those that this program may.
type layout struct {
	name           string
	server, client []int
}

var layouts = []layout{
	{"own cores", []int{0}, []int{1}},
	{"shared cores", []int{0, 1}, []int{0, 1}},
}

// sample is one run against one endpoint. Times are in microseconds.
type sample struct {
	Layout     string
	Path       string
	Throughput float64
	P50        float64
	P99        float64
	P999       float64
	Handler    float64 // 99.9th percentile of Gin's access log
}

// Endpoints of examples/fastcserver, cgo's and ours.
var (
	many   = [2]string{"/many/cgo", "/many/fast"}
	matrix = [2]string{"/cgo/62/2", "/blockcall/62/2"} // some 240 µs of C
	single = [2]string{"/cgo/8/1", "/blockcall/8/1"}
	greedy = [2]string{"/cgo/62/2", "/greedy/62/2"} // without letting others run first
	inGo   = [2]string{"/cgo/62/2", "/go/62/2"}     // what any Go of that length does
)

// served is where the example has an endpoint that results name otherwise: they keep the names that they were
// recorded with, so that old and new ones compare.
var served = map[string]string{"/blockcall/62/2": "/yield/62/2", "/greedy/62/2": "/blockcall/62/2"}

// paths are all of them.
var paths = []string{many[0], many[1], matrix[0], matrix[1], greedy[1], inGo[1], single[0], single[1]}

// server loads the example's server, ten connections in a closed loop as ab -k -c 10 does.
func (b *bench) server() error {
	var all []sample
	for _, l := range layouts {
		s, err := b.start(l)
		if err != nil {
			return err
		}
		for round := range b.rounds / 2 {
			order := slices.Clone(paths)
			if round%2 == 1 { // neither of two is always first
				slices.Reverse(order)
			}
			for _, path := range order {
				one, err := b.load(s, path)
				if err != nil {
					return errors.Join(err, s.end())
				}
				all = append(all, one)
			}
		}
		if err := s.end(); err != nil {
			return err
		}
	}
	b.set.Raw["server"] = all
	b.serverFigures(all)
	return nil
}

func (b *bench) serverFigures(all []sample) {
	if len(all) == 0 {
		return
	}
	var rows [][]string
	for _, l := range layouts {
		for _, path := range paths {
			row := []string{l.name + " " + path}
			for _, of := range []func(sample) float64{rps, p50, p99, p999, handler} {
				row = append(row, fmt.Sprintf("%.4g", figure.Median(column(all, l, path, of))))
			}
			rows = append(rows, row)
		}
	}
	table([]string{"ten connections", "requests/s", "p50, µs", "p99, µs", "p99.9, µs", "handler p99.9, µs"}, rows)
	ratios := func(l layout, pair [2]string, of func(sample) float64) []float64 {
		return figure.Ratios(column(all, l, pair[1], of), column(all, l, pair[0], of))
	}
	own, shared := layouts[0], layouts[1]
	b.set.AtLeast("1,000 small calls: requests/s, fast / cgo", ratios(own, many, rps), 1.6, "x")
	b.set.AtMost("1,000 small calls: client p99, fast / cgo", ratios(own, many, p99), .6, "x")
	b.set.AtMost("a call of 240 µs: handler p99.9, fast / cgo", ratios(own, matrix, handler), .1, "x")
	b.set.AtMost("a call of 240 µs, shared cores: client p99, fast / cgo", ratios(shared, matrix, p99), 1, "x")
	for _, l := range layouts {
		for _, pair := range [][2]string{many, matrix, greedy, inGo, single} {
			fmt.Printf("  beside it, %s, %s / %s: requests/s %.2f, client p50 %.2f, p99 %.2f, p99.9 %.2f, handler p99.9 %.2f\n", l.name, pair[1], pair[0],
				figure.Median(ratios(l, pair, rps)), figure.Median(ratios(l, pair, p50)), figure.Median(ratios(l, pair, p99)),
				figure.Median(ratios(l, pair, p999)), figure.Median(ratios(l, pair, handler)))
		}
	}
}

func rps(s sample) float64     { return s.Throughput }
func p50(s sample) float64     { return s.P50 }
func p99(s sample) float64     { return s.P99 }
func p999(s sample) float64    { return s.P999 }
func handler(s sample) float64 { return s.Handler }

func column(all []sample, l layout, path string, of func(sample) float64) (xs []float64) {
	for _, s := range all {
		if s.Layout == l.name && s.Path == path {
			xs = append(xs, of(s))
		}
	}
	return xs
}

// server is the server under load.
type server struct {
	*child.Child
	layout layout
	log    *os.File // its standard output: Gin's access log
	url    string
}

var listening = regexp.MustCompile(`msg=listening .*?(127\.0\.0\.1:[0-9]+)`)

// start starts the server on its cores and waits until it listens. Its log goes to the file
// itself: this program must not work while the server does.
func (b *bench) start(l layout) (*server, error) {
	cores, err := machine.CoreList(l.server...)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "bench-fastc-*.log")
	if err != nil {
		return nil, err
	}
	c := &server{layout: l, log: f}
	c.Child, err = child.Start(b.ctx, child.Options{
		Args:   []string{"taskset", "-c", cores, filepath.Join(b.bin, "fastcserver"), "-addr", "127.0.0.1:0"},
		Stdout: f, Stderr: os.Stderr, StopTimeout: 5 * time.Second,
	})
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && b.ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			return nil, errors.Join(err, c.end())
		}
		if m := listening.FindSubmatch(text); m != nil {
			c.url = "http://" + string(m[1])
			return c, nil
		}
	}
	return nil, errors.Join(b.ctx.Err(), errors.New("fastcserver did not say where it listens; make bench-fastc builds it"), c.end())
}

// end ends the server.
func (c *server) end() error {
	err := c.Stop()
	if s := c.State(); err == nil && !s.Success() {
		err = errors.New("fastcserver: " + s.String())
	}
	return errors.Join(err, c.log.Close(), os.Remove(c.log.Name()))
}

// load runs evenkeel load against path and looks at both sides' times.
func (b *bench) load(c *server, path string) (sample, error) {
	at := cmp.Or(served[path], path)
	cores, err := machine.CoreList(c.layout.client...)
	if err != nil {
		return sample{}, err
	}
	before, err := os.Stat(c.log.Name())
	if err != nil {
		return sample{}, err
	}
	cmd := exec.CommandContext(b.ctx, "taskset", "-c", cores, filepath.Join(b.bin, "evenkeel"), "load",
		"-c", "10", "-warmup", "300ms", "-z", b.length.String(), "-o", "-", c.url+at)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err := errors.Join(b.ctx.Err(), err); err != nil {
		return sample{}, err
	}
	var file struct {
		Runs []struct{ Load *loadgen.Result }
	}
	if err := json.Unmarshal(out, &file); err != nil {
		return sample{}, err
	}
	if len(file.Runs) != 1 || file.Runs[0].Load == nil {
		return sample{}, fmt.Errorf("evenkeel load wrote %d runs", len(file.Runs))
	}
	r := file.Runs[0].Load
	if r.Statuses[200] != r.Requests() {
		return sample{}, fmt.Errorf("%s: of %d requests %d were answered with 200", path, r.Requests(), r.Statuses[200])
	}
	text, err := os.ReadFile(c.log.Name())
	if err != nil {
		return sample{}, err
	}
	handlers, err := ginlog.Read(text[before.Size():])
	if err != nil {
		return sample{}, err
	}
	var inside loadgen.Histogram
	for _, h := range handlers {
		if h.Path == at {
			inside.Merge(&h.Times)
		}
	}
	if inside.Count() < r.Requests() {
		return sample{}, fmt.Errorf("%s: %d of %d requests are in the access log", path, inside.Count(), r.Requests())
	}
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	return sample{
		Layout: c.layout.name, Path: path, Throughput: r.Throughput(),
		P50: us(r.Latency.Quantile(.5)), P99: us(r.Latency.Quantile(.99)), P999: us(r.Latency.Quantile(.999)),
		Handler: us(inside.Quantile(.999)),
	}, nil
}
