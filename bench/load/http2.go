package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/loadgen"
)

// The load of HTTP/2: h2load's -c and -m.
const (
	h2Connections = "10"
	h2Streams     = "10"
)

// http2 compares the closed loop over h2c with h2load's and oha's, and has the stalling service measured over it.
func (b *bench) http2() error {
	peers := map[string]func() (sample, error){}
	if _, err := exec.LookPath("h2load"); err == nil {
		peers["h2load"] = b.h2load
	}
	if _, err := exec.LookPath("oha"); err == nil {
		peers["oha"] = b.oha
	}
	for name, missing := range map[string]string{"h2load": "install Debian's nghttp2-client", "oha": "cargo install oha"} {
		if peers[name] == nil {
			fmt.Fprintf(b.set.Out, "  HTTP/2: no %s to compare with: %s\n", name, missing)
		}
	}
	names := append([]string{"evenkeel"}, slices.Sorted(maps.Keys(peers))...)
	peers["evenkeel"] = func() (sample, error) {
		return b.evenkeel("/", "-http2", "-c", h2Connections, "-streams", h2Streams, "-z", b.length.String())
	}
	r := http2Runs{Peers: map[string][]sample{}}
	for round := range b.rounds {
		for i := range names { // none is always the first
			name := names[(i+round)%len(names)]
			s, err := peers[name]()
			if err != nil {
				return err
			}
			if name == "evenkeel" {
				r.Ours = append(r.Ours, s)
			} else {
				r.Peers[name] = append(r.Peers[name], s)
			}
		}
	}
	b.set.Raw["http2"] = r
	b.beside(overHTTP2, r.Ours, r.Peers)
	return b.stalledOver("HTTP/2", func(args ...string) (sample, error) {
		return b.evenkeel("/stall", append([]string{"-http2", "-c", "10", "-streams", "100"}, args...)...)
	})
}

// http2Runs are the closed loops over HTTP/2, round by round.
type http2Runs struct {
	Ours  []sample            `json:"evenkeel"`
	Peers map[string][]sample `json:"peers"`
}

const (
	overHTTP2 = "HTTP/2, closed loop"
	overGRPC  = "gRPC, closed loop"
)

// beside shows requests a second, and CPU time a request, of ours beside each peer's. The target is that of h2load, which is
// written in C and sends nothing but what it was told.
func (b *bench) beside(name string, ours []sample, theirs map[string][]sample) {
	rate := func(s sample) float64 { return s.Throughput }
	work := func(s sample) float64 { return 1e9 / float64(s.CPU) } // requests a second of its CPU time
	for _, peer := range []string{"h2load", "oha", "ghz"} {
		ss := theirs[peer]
		if len(ss) == 0 {
			continue
		}
		bound := 1.0
		if peer == "h2load" {
			bound = .8
		}
		b.set.AtLeast(name+": requests/s, evenkeel / "+peer, figure.Ratios(each(ours, rate), each(ss, rate)), bound, "x")
		b.set.AtLeast(name+": requests per CPU second, evenkeel / "+peer, figure.Ratios(each(ours, work), each(ss, work)), bound, "x")
		fmt.Fprintf(b.set.Out, "  evenkeel %.0f requests/s, %.1f µs of CPU each; %s %.0f, %.1f µs\n",
			figure.Median(each(ours, rate)), 1e6/figure.Median(each(ours, work)), peer, figure.Median(each(ss, rate)), 1e6/figure.Median(each(ss, work)))
	}
}

// stalledOver measures the stalling service some times.
func (b *bench) stalledOver(name string, run func(args ...string) (sample, error)) error {
	var ss []sample
	for range stallRounds {
		s, err := run("-rate", fmt.Sprint(stallRate), "-z", (4 * b.length).String())
		if err != nil {
			return err
		}
		ss = append(ss, s)
	}
	b.set.Raw[stallOver+name] = ss
	b.stalled("stalling service over "+name, ss)
	return nil
}

const stallOver = "stall over "

var (
	h2loadRate = regexp.MustCompile(`finished in [^,]+, ([0-9.]+) req/s`)
	h2loadDone = regexp.MustCompile(`requests: (\d+) total, \d+ started, \d+ done, (\d+) succeeded`)
)

// h2load runs nghttp2's load generator, over one thread as evenkeel's connections share what there is.
func (b *bench) h2load() (sample, error) {
	out, cpu, err := b.command("h2load", "-c", h2Connections, "-m", h2Streams, "-D", strconv.Itoa(max(1, int(b.length.Seconds()))), b.server+"/")
	if err != nil {
		return sample{}, err
	}
	rate, done := h2loadRate.FindSubmatch(out), h2loadDone.FindSubmatch(out)
	if rate == nil || done == nil {
		return sample{}, fmt.Errorf("h2load: no rate in its output:\n%s", out)
	}
	s := sample{Tool: "h2load"}
	s.Throughput, _ = strconv.ParseFloat(string(rate[1]), 64)
	if s.Requests, _ = strconv.ParseFloat(string(done[2]), 64); s.Requests == 0 {
		return sample{}, fmt.Errorf("h2load: no answers:\n%s", out)
	}
	s.CPU = time.Duration(float64(cpu) / s.Requests)
	return s, nil
}

// oha runs oha, over HTTP/2 with as many streams.
func (b *bench) oha() (sample, error) {
	out, cpu, err := b.command("oha", "--no-tui", "--json", "--http2", "-c", h2Connections, "-p", h2Streams, "-z", b.length.String(), b.server+"/")
	if err != nil {
		return sample{}, err
	}
	var said struct {
		Summary struct {
			RequestsPerSec float64 `json:"requestsPerSec"`
		} `json:"summary"`
		Statuses map[string]float64 `json:"statusCodeDistribution"`
	}
	if err := json.Unmarshal(out, &said); err != nil || said.Statuses["200"] == 0 {
		return sample{}, fmt.Errorf("oha: no answers of 200 in its output: %w\n%.300s", err, out)
	}
	n := said.Statuses["200"]
	return sample{Tool: "oha", Requests: n, Throughput: said.Summary.RequestsPerSec, CPU: time.Duration(float64(cpu) / n)}, nil
}

// ghz runs ghz on the method that loadgrpc calls.
func (b *bench) ghz(addr string) (sample, error) {
	out, cpu, err := b.command("ghz", "--insecure", "--call", "grpc.health.v1.Health/Check", "-c", connections, "--connections", grpcConnections,
		"-z", b.length.String(), "--duration-stop", "wait", "--format", "json", addr)
	if err != nil {
		return sample{}, err
	}
	var said struct {
		Count        float64          `json:"count"`
		Rps          float64          `json:"rps"`
		Distribution map[string]int64 `json:"statusCodeDistribution"`
	}
	if err := json.Unmarshal(out, &said); err != nil || said.Distribution["OK"] == 0 {
		return sample{}, fmt.Errorf("ghz: no answers in its output: %w\n%.300s", err, out)
	}
	n := float64(said.Distribution["OK"])
	return sample{Tool: "ghz", Requests: n, Throughput: said.Rps * n / said.Count, CPU: time.Duration(float64(cpu) / n)}, nil
}

const grpcConnections = "2"

// grpc compares the closed loop of load/loadgrpc, which is loadgen with Options.Call, with ghz's, and has the stalling service
// measured by it.
func (b *bench) grpc() error {
	addr, stop, err := b.serve("-grpc")
	if err != nil {
		return err
	}
	defer stop()
	ours, ghzs, err := inTurn(b.rounds,
		func() (sample, error) {
			return b.loadgrpc(addr, "-closed", connections, "-c", grpcConnections, "-z", b.length.String())
		},
		func() (sample, error) { return b.ghz(addr) })
	if err != nil {
		return err
	}
	b.set.Raw["grpc"] = append(slices.Clone(ours), ghzs...)
	b.beside(overGRPC, ours, map[string][]sample{"ghz": ghzs})
	return b.stalledOver("gRPC", func(args ...string) (sample, error) {
		return b.loadgrpc(addr, append([]string{"-service", "/stall", "-c", "10"}, args...)...)
	})
}

// loadgrpc runs the program of that name.
func (b *bench) loadgrpc(addr string, args ...string) (sample, error) {
	out, cpu, err := b.command("loadgrpc", append([]string{"-json", "-addr", addr}, args...)...)
	if err != nil {
		return sample{}, err
	}
	var r loadgen.Result
	if err := json.Unmarshal(out, &r); err != nil {
		return sample{}, fmt.Errorf("loadgrpc: %w\n%.300s", err, out)
	}
	return sampleOf("loadgrpc", &r, cpu)
}
