//go:build linux

package fastc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/loadgen"
)

const (
	many   = "1,000 calls"
	matrix = "a call of 240 µs"
	single = "a call of 2 µs"
)

// paths are those of examples/fastcserver, by load and way.
var paths = map[string]map[string]string{
	many:   {cgo: "/many/cgo", fast: "/many/fast"},
	matrix: {cgo: "/cgo/62/2", fast: "/blockcall/62/2", yielding: "/yield/62/2", inGo: "/go/62/2"},
	single: {cgo: "/cgo/8/1", fast: "/blockcall/8/1"},
}

const ownCores, sharedCores = ", a core each", ", shared cores"

// path returns what is requested, or "".
func path(way, load string) string {
	what, _ := strings.CutSuffix(load, ownCores)
	what, _ = strings.CutSuffix(what, sharedCores)
	return paths[what][way]
}

const handler = "handler p99.9"

// server is ten connections in a closed loop, as ab -k -c 10.
func server() harness.Case {
	c := harness.Case{
		Name: "fastc/server",
		What: "/cgo and /blockcall of examples/fastcserver, ten connections in a closed loop (ms)",
		Ways: []string{cgo, fast, yielding, inGo}, Rounds: 5, Length: 4 * time.Second,
		Skip: func(way, load string) bool { return path(way, load) == "" }, Run: serve,
		Figures: []string{"requests/s", "p50", "p99", "p99.9", handler},
		Claims: []harness.Claim{
			{Load: many + ownCores, Way: fast, Over: cgo, Figure: "requests/s", Target: harness.AtLeast(1.6)},
			{Load: many + ownCores, Way: fast, Over: cgo, Figure: "p99", Target: harness.AtMost(.6)},
			{Load: matrix + ownCores, Way: yielding, Over: cgo, Figure: handler, Target: harness.AtMost(.1)},
			{Load: matrix + sharedCores, Way: yielding, Over: cgo, Figure: "p99", Target: harness.AtMost(1)},
		},
	}
	for _, cores := range []string{ownCores, sharedCores} {
		c.Loads = append(c.Loads, many+cores, matrix+cores, single+cores)
	}
	return c
}

func serve(ctx context.Context, r *harness.Run) error {
	program, err1 := r.Program(ctx, "examples/fastcserver")
	evenkeel, err2 := r.Program(ctx, "cmd/evenkeel")
	dir, err3 := r.Dir()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	serverCore, clientCore := 0, 1
	if strings.HasSuffix(r.Load, sharedCores) {
		serverCore, clientCore = harness.AnyCore, harness.AnyCore
	}
	// The access log goes to a file, because this program must not run while the server does.
	log, result := filepath.Join(dir, "access.log"), filepath.Join(dir, "load.json")
	srv, err := r.Start(ctx, serverCore, nil, "sh", "-c", `exec "$0" -addr 127.0.0.1:0 >"$1"`, program, log)
	if err != nil {
		return err
	}
	defer srv.Stop()
	addr, err := listening(ctx, srv, log)
	if err != nil {
		return err
	}
	cl, err := r.Start(ctx, clientCore, nil, evenkeel, "load", "-c", "10", "-warmup", r.Warmup.String(),
		"-z", r.Length.String(), "-o", result, "http://"+addr+path(r.Way, r.Load))
	if err != nil {
		return err
	}
	defer cl.Stop()
	cl.Drain()
	select {
	case <-cl.Exited():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return take(r, log, result)
}

var listens = regexp.MustCompile(`msg=listening .*?(127\.0\.0\.1:[0-9]+)`)

func listening(ctx context.Context, srv *harness.Child, log string) (addr string, err error) {
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if m := listens.FindSubmatch(text); m != nil {
			return string(m[1]), nil
		}
		select {
		case <-srv.Exited():
			_, complaint := srv.Output()
			return "", fmt.Errorf("fastcserver ended: %s%s", text, complaint)
		default:
		}
	}
	return "", context.Cause(ctx)
}

// take sets the client's figures, and the handlers' p99.9 by the access log.
func take(r *harness.Run, log, result string) error {
	client, err := harness.ReadLoad(result)
	if err != nil {
		return err
	}
	if ok := client.Statuses[200]; ok != client.Requests() {
		return fmt.Errorf("of %d requests %d were answered with 200", client.Requests(), ok)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	inside, err := handlers(text, path(r.Way, r.Load))
	if err != nil {
		return err
	}
	if inside.Count() < client.Requests() {
		return fmt.Errorf("%d of %d requests are in the access log", inside.Count(), client.Requests())
	}
	r.Set("requests/s", client.Throughput())
	r.Set("p50", client.Latency.Quantile(.5).Seconds()*1e3)
	r.Set("p99", client.Latency.Quantile(.99).Seconds()*1e3)
	r.Set("p99.9", client.Latency.Quantile(.999).Seconds()*1e3)
	r.Set(handler, inside.Quantile(.999).Seconds()*1e3)
	return nil
}

// accessLine is Gin's default format (gin-gonic/gin, logger.go).
var accessLine = regexp.MustCompile(`^\[GIN\] .*\| (\d{3}) \| +([0-9.µa-z]+) \| .* \| [A-Z]+ +"([^"]*)"`)

// handlers returns the handlers' times of answers with status 200 to a path.
func handlers(text []byte, path string) (times loadgen.Histogram, err error) {
	for line := range bytes.Lines(text) {
		m := accessLine.FindSubmatch(line)
		if m == nil || string(m[1]) != "200" || string(m[3]) != path {
			continue
		}
		took, err := time.ParseDuration(string(m[2]))
		if err != nil {
			return times, fmt.Errorf("access log: %q: %w", bytes.TrimSpace(line), err)
		}
		times.Record(took)
	}
	return times, nil
}
