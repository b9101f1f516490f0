//go:build linux

package explain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
)

// fleet has the services and whom they call. The first one gets the load. A service starts after
// those that it calls.
var fleet = []struct {
	name  string
	calls []string
}{
	{"shop", []string{"prices", "stock"}}, {"stock", []string{"store"}}, {"prices", nil}, {"store", nil},
}

func servicesCase() harness.Case {
	const apart, together = "apart", "together"
	const ids, noIDs = "with ids", "without ids"
	const wall, cpu, memory = "wall", "CPU", "peak MB"
	var files map[string][]string
	c := harness.Case{
		Name: "explain/services",
		What: "four services' traces, 120 MB, by one evenkeel explain, next to one after the other and the memory of " +
			"the largest two",
		Ways: []string{apart, together}, Loads: []string{ids, noIDs}, Figures: []string{wall, cpu, memory}, Rounds: 15,
		Length: 8 * time.Second,
		Open: func(context.Context, *harness.Run) (func(), error) {
			files = map[string][]string{}
			return nil, nil
		},
	}
	for _, load := range c.Loads {
		c.Claims = append(c.Claims,
			harness.Claim{Load: load, Way: together, Over: apart, Figure: wall, Target: harness.AtMost(1.3)},
			harness.Claim{Load: load, Way: together, Over: apart, Figure: memory, Target: harness.AtMost(1)})
	}
	c.Run = func(ctx context.Context, r *harness.Run) (err error) {
		list := files[r.Load]
		if list == nil {
			if list, err = tracesOf(ctx, r, r.Load == ids); err != nil {
				return err
			}
			files[r.Load] = list
		}
		runs := [][]string{list}
		if r.Way == apart {
			runs = nil
			for _, f := range list {
				runs = append(runs, []string{f})
			}
		}
		var took, used time.Duration
		var peaks []float64
		for _, traces := range runs {
			x, err := explained(ctx, r, traces)
			if err != nil {
				return err
			}
			took, used, peaks = took+x.took, used+x.used, append(peaks, float64(x.peak)/1e6)
		}
		slices.Sort(peaks)
		r.Set(wall, took.Seconds())
		r.Set(cpu, used.Seconds())
		r.Set(memory, peaks[len(peaks)-1])
		if r.Way == apart {
			r.Set(memory, peaks[len(peaks)-1]+peaks[len(peaks)-2])
		}
		return nil
	}
	return c
}

type spent struct {
	took, used time.Duration
	peak       int64 // bytes
}

// explained runs evenkeel explain. What wait4(2) says of a child's memory may be its parent's.
func explained(ctx context.Context, r *harness.Run, traces []string) (x spent, err error) {
	program, err := r.Program(ctx, "cmd/evenkeel")
	if err != nil {
		return x, err
	}
	var out strings.Builder
	c := exec.CommandContext(ctx, program, append([]string{"explain"}, traces...)...)
	c.Stdout, c.Stderr = &out, &out
	start := time.Now()
	if err := c.Start(); err != nil {
		return x, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return x, fmt.Errorf("evenkeel explain: %w\n%s", err, out.String())
			}
			x.took, x.used = time.Since(start), c.ProcessState.UserTime()+c.ProcessState.SystemTime()
			r.Said, _, _ = strings.Cut(out.String(), "\n")
			return x, nil
		case <-time.After(2 * time.Millisecond):
			if peak, err := machine.PeakRSS(c.Process.Pid); err == nil {
				x.peak = max(x.peak, peak)
			}
		}
	}
}

// tracesOf takes the services' traces, and again for longer if they are too small.
func tracesOf(ctx context.Context, r *harness.Run, ids bool) ([]string, error) {
	const fits = 1.2 // of what a longer trace should have
	want := harness.Unless(r, 120e6, 1e6)
	length := r.Length
	for {
		files, size, err := takeTraces(ctx, r, ids, length)
		if err != nil || size >= want {
			return files, err
		}
		length = time.Duration(float64(length) * fits * want / max(size, want/8))
	}
}

func takeTraces(
	ctx context.Context, r *harness.Run, ids bool, length time.Duration,
) (files []string, size float64, err error) {
	addrs := map[string]string{}
	for _, s := range slices.Backward(fleet) {
		var calls []string
		for _, name := range s.calls {
			calls = append(calls, "http://"+addrs[name])
		}
		c, err := r.Start(ctx, harness.AnyCore, nil, "bench/explain/traced", "-calls="+strings.Join(calls, ","),
			fmt.Sprintf("-ids=%v", ids))
		if err != nil {
			return nil, 0, err
		}
		defer c.Stop()
		if addrs[s.name], err = c.Line(0); err != nil {
			return nil, 0, err
		}
	}
	loading, stop := context.WithCancel(ctx)
	defer stop()
	loaded := make(chan error, 1)
	go func() {
		_, err := loadgen.Run(loading, loadgen.Options{
			Targets: []loadgen.Target{{URL: "http://" + addrs[fleet[0].name]}}, Rate: 1500, Connections: 64,
			Duration: time.Hour,
		})
		loaded <- err
	}()
	dir, err := r.Dir()
	if err != nil {
		return nil, 0, err
	}
	sizes, errs := make([]int, len(fleet)), make([]error, len(fleet))
	taken := make(chan int)
	for i, s := range fleet {
		files = append(files, filepath.Join(dir, s.name+".trace"))
		go func() {
			b, err := harness.Get(ctx, fmt.Sprintf("http://%s/debug/pprof/trace?seconds=%g", addrs[s.name],
				length.Seconds()))
			sizes[i], errs[i] = len(b), errors.Join(err, os.WriteFile(files[i], b, 0o600))
			taken <- i
		}()
	}
	for range fleet {
		size += float64(sizes[<-taken])
	}
	stop()
	return files, size, errors.Join(append(errs, <-loaded)...)
}
