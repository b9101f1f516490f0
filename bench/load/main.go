// Command load puts evenkeel load beside the field's load generators, hey (closed loop) and
// vegeta (open loop), h2load and vegeta over HTTP/2, oha and ghz (gRPC), interleaved in one run against
// one server: is it cheap, and is what it measures true? make bench-load runs it. h2load is Debian's
// nghttp2-client, oha a Rust program: they are left out where they are not in PATH.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/examples/child"
	"evenkeel.dev/loadgen"
)

// bench is what the three comparisons share.
type bench struct {
	bin    string // folder of the built programs
	dir    string // scratch
	rounds int
	length time.Duration // of one run
	server string        // URL
	set    *figure.Set
}

func main() {
	log.SetFlags(0)
	bin := flag.String("bin", "../bin", "`folder` of the built evenkeel, hey, vegeta and server")
	results := flag.String("results", "results", "`folder` for the raw results")
	rounds := flag.Int("rounds", 10, "interleaved rounds")
	length := flag.Duration("length", 5*time.Second, "length of one run")
	only := flag.String("only", "", "`parts` to run, of closed,open,stall,http2,grpc (default all)")
	var again figure.Again
	again.Flags(flag.CommandLine)
	flag.Parse()
	if again.File != "" {
		if err := again.Judge("load", os.Stdout, judge); err != nil {
			log.Fatal("bench-load: ", err)
		}
		return
	}
	if err := run(*bin, *results, *rounds, *length, *only); err != nil {
		log.Fatal("bench-load: ", err)
	}
}

func run(bin, results string, rounds int, length time.Duration, only string) error {
	if err := figure.CheckSave(results); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{bin: bin, dir: dir, rounds: rounds, length: length, set: figure.New("load")}
	b.set.Versions["peers"] = peers()
	stop, err := b.start()
	if err != nil {
		return err
	}
	defer stop()
	for _, part := range []struct {
		name string
		run  func() error
	}{{"closed", b.closed}, {"open", b.open}, {"stall", b.stall}, {"http2", b.http2}, {"grpc", b.grpc}} {
		if only != "" && !slices.Contains(strings.Split(only, ","), part.name) {
			continue
		}
		if err := part.run(); err != nil {
			return err
		}
	}
	return b.set.Save(results)
}

// inTurn runs both in each round. Neither is always the first.
func inTurn(rounds int, one, two func() (sample, error)) (ones, twos []sample, err error) {
	for round := range rounds {
		var a, b sample
		var err1, err2 error
		if round%2 == 0 {
			if a, err1 = one(); err1 == nil {
				b, err2 = two()
			}
		} else if b, err2 = two(); err2 == nil {
			a, err1 = one()
		}
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
		ones, twos = append(ones, a), append(twos, b)
	}
	return ones, twos, nil
}

// start starts the server on a free port.
func (b *bench) start() (stop func(), err error) {
	b.server, stop, err = b.serve()
	return stop, err
}

// serve starts a server and returns where it listens.
func (b *bench) serve(flags ...string) (at string, stop func(), err error) {
	c, err := child.Start(context.Background(), child.Options{
		Args: append([]string{filepath.Join(b.bin, "server")}, flags...), Ready: regexp.MustCompile("^(.*)$"), Stderr: os.Stderr,
	})
	if err != nil {
		return "", nil, err
	}
	return c.Match, c.Kill, nil
}

// sample is one run of one tool.
type sample struct {
	Tool       string                   `json:"tool"`
	Requests   float64                  `json:"requests"`
	Throughput float64                  `json:"requests_per_second"`
	CPU        time.Duration            `json:"cpu_ns_a_request"` // of the tool
	Latency    map[string]time.Duration `json:"latency_ns"`       // by percentile
	Max        time.Duration            `json:"max_ns"`
	Late       int64                    `json:"late,omitempty"` // of evenkeel's open loop
	LateMax    time.Duration            `json:"late_max_ns,omitempty"`
}

// command runs a tool to its end and returns its output and CPU time.
func (b *bench) command(name string, args ...string) ([]byte, time.Duration, error) {
	path := filepath.Join(b.bin, name)
	if found, err := exec.LookPath(name); err == nil && !exists(path) {
		path = found
	}
	cmd := exec.Command(path, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

var quantiles = map[string]float64{"p50": .5, "p90": .9, "p95": .95, "p99": .99, "p99.9": .999}

// evenkeel runs evenkeel load.
func (b *bench) evenkeel(path string, args ...string) (sample, error) {
	file := filepath.Join(b.dir, "run.json")
	_, cpu, err := b.command("evenkeel", append([]string{"load", "-o", file, b.server + path}, args...)...)
	if err != nil {
		return sample{}, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return sample{}, err
	}
	var f struct {
		Machine any `json:"machine"`
		Runs    []struct {
			Load *loadgen.Result `json:"load"`
		} `json:"runs"`
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return sample{}, err
	}
	b.set.Machine = f.Machine
	return sampleOf("evenkeel", f.Runs[0].Load, cpu)
}

// sampleOf takes a result of loadgen for a sample.
func sampleOf(tool string, r *loadgen.Result, cpu time.Duration) (sample, error) {
	if r.Failed > 0 || r.Answered == 0 {
		return sample{}, fmt.Errorf("%s: %d requests answered, %d failed: %v", tool, r.Answered, r.Failed, r.Failures)
	}
	s := sample{Tool: tool, Requests: float64(r.Answered), Throughput: r.Throughput(), CPU: cpu / time.Duration(r.Answered), Latency: map[string]time.Duration{}}
	s.Max, s.Late, s.LateMax = r.Latency.Max(), r.Late, r.LateMax
	for name, q := range quantiles {
		s.Latency[name] = r.Latency.Quantile(q)
	}
	return s, nil
}

// peers names the versions of what is compared with.
func peers() any {
	out, err := exec.Command("go", "list", "-m", "github.com/rakyll/hey", "github.com/tsenart/vegeta/v12", "github.com/bojand/ghz").Output()
	if err != nil {
		return err.Error()
	}
	list := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, name := range []string{"h2load", "oha"} { // those of the machine
		if out, err := exec.Command(name, "--version").Output(); err == nil {
			list = append(list, strings.TrimSpace(string(out)))
		}
	}
	return list
}

// seconds takes one percentile out of samples, in seconds.
func seconds(ss []sample, percentile string) []float64 {
	var xs []float64
	for _, s := range ss {
		xs = append(xs, s.Latency[percentile].Seconds())
	}
	return xs
}
