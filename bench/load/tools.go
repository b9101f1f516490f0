//go:build linux

package load

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
)

// h2load's -c and -m.
const (
	h2Connections = "10"
	h2Streams     = "10"
)

func (t *target) take(requests, perSecond float64, cpu time.Duration) {
	t.Set("requests", requests)
	t.Set(rate, perSecond)
	t.Set(perAsk, float64(cpu.Nanoseconds())/1e3/requests)
}

// takeAll takes the latencies of all requests.
func (t *target) takeAll(xs []time.Duration, cpu time.Duration) {
	t.take(float64(len(xs)), float64(len(xs))/t.Length.Seconds(), cpu)
	slices.Sort(xs)
	for name, q := range quantiles {
		t.Set(name, ms(xs[min(len(xs)-1, int(q*float64(len(xs))))]))
	}
}

func (t *target) takeResult(res *loadgen.Result, cpu time.Duration) error {
	if res.Failed > 0 || res.Answered == 0 {
		return fmt.Errorf("%d requests answered, %d failed: %v", res.Answered, res.Failed, res.Failures)
	}
	t.take(float64(res.Answered), res.Throughput(), cpu)
	t.Set("late", float64(res.Late))
	for name, q := range quantiles {
		t.Set(name, ms(res.Latency.Quantile(q)))
	}
	return nil
}

func command(ctx context.Context, program string, args ...string) ([]byte, time.Duration, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s: %w", filepath.Base(program), strings.Join(args, " "), err)
	}
	return out, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func goTool(ctx context.Context, name string, args ...string) ([]byte, time.Duration, error) {
	path, _, err := command(ctx, "go", "tool", "-n", name)
	if err != nil {
		return nil, 0, err
	}
	return command(ctx, strings.TrimSpace(string(path)), args...)
}

func (t *target) evenkeel(ctx context.Context) error {
	program, err := t.Program(ctx, "cmd/evenkeel")
	if err != nil {
		return err
	}
	dir, err := t.Dir()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "run.json")
	args := append([]string{"load", "-o", file, "-z", t.Length.String()}, t.flags...)
	if t.openRate > 0 {
		args = append(args, "-rate", strconv.Itoa(t.openRate))
	}
	_, cpu, err := command(ctx, program, append(args, t.at+t.path)...)
	if err != nil {
		return err
	}
	run, err := harness.ReadRun(file)
	if err != nil {
		return err
	}
	return t.takeResult(run.Load, cpu)
}

var (
	heyRate = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	heyDone = regexp.MustCompile(`\[2\d\d\]\s+(\d+) responses`)
)

// hey reads the CSV of a rate, which has finer latencies than the summary.
func (t *target) hey(ctx context.Context) error {
	args := append([]string{"-z", t.Length.String()}, t.flags...)
	if t.openRate > 0 {
		return t.heyAt(ctx, args)
	}
	out, cpu, err := goTool(ctx, "hey", append(args, t.at+t.path)...)
	if err != nil {
		return err
	}
	return t.takeText("hey", out, heyRate, heyDone, cpu)
}

// takeText takes a tool's summary, and adds up the answers of all its lines.
func (t *target) takeText(tool string, out []byte, perSecond, answers *regexp.Regexp, cpu time.Duration) error {
	rate, n := number(perSecond.FindSubmatch(out)), 0.
	for _, m := range answers.FindAllSubmatch(out, -1) {
		n += number(m)
	}
	if rate == 0 || n == 0 {
		return fmt.Errorf("%s: no rate or no answers in its output:\n%s", tool, out)
	}
	t.take(n, rate, cpu)
	return nil
}

func number(match [][]byte) float64 {
	if match == nil {
		return 0
	}
	x, _ := strconv.ParseFloat(string(match[1]), 64) // a number, by the expression
	return x
}

func (t *target) heyAt(ctx context.Context, args []string) error {
	args = append(args, "-o", "csv", "-c", "20", "-q", strconv.Itoa(t.openRate/20), t.at+t.path)
	out, cpu, err := goTool(ctx, "hey", args...)
	if err != nil {
		return err
	}
	rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil || len(rows) < 2 {
		return fmt.Errorf("hey: no CSV: %w\n%.200s", err, out)
	}
	var xs []time.Duration
	for _, row := range rows[1:] {
		seconds, err := strconv.ParseFloat(row[0], 64) // response-time
		if err != nil {
			return err
		}
		xs = append(xs, time.Duration(seconds*1e9))
	}
	t.takeAll(xs, cpu)
	return nil
}

// vegeta's own percentiles are estimates by t-digest.
func (t *target) vegeta(ctx context.Context) error {
	dir, err := t.Dir()
	if err != nil {
		return err
	}
	targets, results := filepath.Join(dir, "targets"), filepath.Join(dir, "results.bin")
	if err := os.WriteFile(targets, []byte("GET "+t.at+t.path+"\n"), 0o600); err != nil {
		return err
	}
	_, cpu, err := goTool(ctx, "vegeta", "attack", "-targets", targets, "-rate", strconv.Itoa(t.openRate),
		"-duration", t.Length.String(), "-output", results)
	if err != nil {
		return err
	}
	out, _, err := goTool(ctx, "vegeta", "encode", "-to", "csv", results)
	if err != nil {
		return err
	}
	var xs []time.Duration
	for line := range strings.Lines(string(out)) {
		f := strings.Split(line, ",") // time, status, latency in ns, ...
		if len(f) < 3 || f[1] != "200" {
			return fmt.Errorf("vegeta: a request failed: %.200s", line)
		}
		ns, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return err
		}
		xs = append(xs, time.Duration(ns))
	}
	if len(xs) == 0 {
		return errors.New("vegeta: no results")
	}
	t.takeAll(xs, cpu)
	return nil
}

var (
	h2loadRate = regexp.MustCompile(`finished in [^,]+, ([0-9.]+) req/s`)
	h2loadDone = regexp.MustCompile(`requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded`)
)

func (t *target) h2load(ctx context.Context) error {
	if _, err := exec.LookPath("h2load"); err != nil {
		return harness.NotHere(fmt.Errorf("%w; install nghttp2-client", err))
	}
	seconds := strconv.Itoa(max(1, int(t.Length.Seconds())))
	out, cpu, err := command(ctx, "h2load", "-c", h2Connections, "-m", h2Streams, "-D", seconds, t.at+"/")
	if err != nil {
		return err
	}
	return t.takeText("h2load", out, h2loadRate, h2loadDone, cpu)
}

func (t *target) ghz(ctx context.Context) error {
	out, cpu, err := goTool(ctx, "ghz", "--insecure", "--call", "grpc.health.v1.Health/Check", "-c", connections,
		"--connections", strconv.Itoa(grpcConnections), "-z", t.Length.String(), "--duration-stop", "wait",
		"--format", "json", t.at)
	if err != nil {
		return err
	}
	var said struct {
		Count, Rps float64
		Statuses   map[string]float64 `json:"statusCodeDistribution"`
	}
	if err := json.Unmarshal(out, &said); err != nil || said.Statuses["OK"] == 0 {
		return fmt.Errorf("ghz: no answers in its output: %w\n%.300s", err, out)
	}
	t.take(said.Statuses["OK"], said.Rps*said.Statuses["OK"]/said.Count, cpu)
	return nil
}

func (t *target) loadgen(ctx context.Context) error {
	var clients [grpcConnections]health.HealthClient
	for i := range clients {
		c, err := grpc.NewClient(t.at, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer c.Close()
		clients[i] = health.NewHealthClient(c)
	}
	ask := &health.HealthCheckRequest{Service: strings.TrimSuffix(t.path, "/")}
	o := loadgen.Options{Rate: float64(t.openRate), Timeout: 5 * time.Second}
	o.Call = func(ctx context.Context, worker int) error {
		_, err := clients[worker%len(clients)].Check(ctx, ask)
		return err
	}
	if t.openRate == 0 {
		o.Connections, _ = strconv.Atoi(connections)
	}
	var before time.Duration
	o.OnMeasure = func() { before = machine.OwnTime() }
	res, err := t.Measure(ctx, o)
	if err != nil {
		return err
	}
	return t.takeResult(res, machine.OwnTime()-before)
}
