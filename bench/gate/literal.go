//go:build linux

package gate

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
)

// sourceVariable names the folder of gci-go's source. The module proxy does not have v0.2, which is
// older than Go's modules.
const (
	sourceVariable = "GCIGO"
	needsOriginal  = "for its way gci-go the source of gci-go v0.2, whose folder " + sourceVariable + " names " +
		"(git clone -b v0.2 https://github.com/gcinterceptor/gci-go)"
)

//go:embed testdata/original/main.go
var originalSource []byte

// original builds testdata/original with gci-go's source in a GOPATH.
func original(ctx context.Context, r *harness.Run) (program string, err error) {
	source := os.Getenv(sourceVariable)
	if source == "" {
		return "", harness.NotHere(errors.New(sourceVariable + " is empty; it has to name the folder of gci-go v0.2"))
	}
	path, err := r.Dir()
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	main := filepath.Join(path, "src/original")
	err = errors.Join(os.MkdirAll(main, 0o700), os.WriteFile(filepath.Join(main, "main.go"), originalSource, 0o600),
		os.CopyFS(filepath.Join(path, "src/github.com/gcinterceptor/gci-go"), os.DirFS(source)))
	if err != nil {
		return "", err
	}
	program = filepath.Join(path, "gci-go")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "original")
	build.Env = append(os.Environ(), "GO111MODULE=off", "GOFLAGS=", "GOPATH="+path)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s=%s: %v: %w\n%s", sourceVariable, source, build, err, out)
	}
	return program, nil
}

// literalCase is the loop of gci-go's benchmark, in which nothing outlives an operation.
func literalCase() harness.Case {
	c := harness.Case{
		Name: "gate/literal", What: "the message-push loop of gci-go's benchmark, by size of a message",
		Needs: needsOriginal, Length: 2 * time.Second,
		Ways: []string{stock, gcigo, auto, through}, Loads: []string{"1 KB", "10 KB", "100 KB", "1 MB"}, Run: literal,
	}
	for _, load := range c.Loads {
		c.Claims = append(c.Claims,
			ratio(load, auto, "p99 µs", gcigo, harness.AtMost(1)), ratio(load, auto, "peak MB", gcigo,
				harness.AtMost(1)),
			harness.Claim{
				Load: load, Way: auto, Figure: "% refused", Minus: gcigo, Target: harness.AtMost(0),
				Unit: " points",
			})
	}
	return c
}

var literalSizes = map[string]int{"1 KB": 1 << 10, "10 KB": 10 << 10, "100 KB": 100 << 10, "1 MB": 1 << 20}

func literal(ctx context.Context, r *harness.Run) error {
	args := []string{"-push", strconv.Itoa(literalSizes[r.Load]), "-pushing", r.Length.String()}
	if r.Way != stock && r.Way != gcigo {
		args = append(args, "-gate", r.Way)
	}
	program, err := (&system{Run: r, way: way{name: r.Way, program: service}}).programOf(ctx)
	if err != nil {
		return err
	}
	c, err := r.Start(ctx, harness.AnyCore, nil, append([]string{program}, args...)...)
	if err != nil {
		return err
	}
	defer c.Stop()
	line, err := c.Line(r.Length)
	if err != nil {
		return err
	}
	var said struct {
		Ops, Refused    float64
		Mean, P99, Each time.Duration
	}
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Ops == 0 {
		return fmt.Errorf("%s %v says %q: %w", program, args, line, err)
	}
	peak, err := machine.PeakRSS(c.Pid())
	if err != nil {
		return err
	}
	r.Set("mean µs", said.Mean.Seconds()*1e6)
	r.Set("p99 µs", said.P99.Seconds()*1e6)
	r.Set("µs/operation", said.Each.Seconds()*1e6)
	r.Set("% refused", 100*said.Refused/said.Ops)
	r.Set("peak MB", float64(peak)/1e6)
	return nil
}
