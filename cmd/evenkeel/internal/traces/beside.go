package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/listeners"
	"evenkeel.dev/reqtrace"
)

// fetchBeside takes the trace together with a CPU profile, and watches a local machine. say tells
// what is missing.
func (s *endpoint) fetchBeside(
	ctx context.Context, say func(format string, a ...any),
) (*spool, *cpuwatch.Beside, error) {
	if s.seconds == 0 {
		b, err := s.fetch(ctx)
		return b, nil, err
	}
	seen := func() *cpuwatch.Beside { return nil }
	if here, err := observe.Here(ctx, s.at); err == nil && len(here) > 0 {
		seen = watchMachine(ctx)
	}
	watched, unknown := s.watchCPU(ctx)
	end := s.profile(ctx)
	b, err := s.fetch(ctx)
	cpu, beside, failed := watched(), seen(), end()
	if cpu != nil {
		if beside == nil {
			beside = &cpuwatch.Beside{}
		}
		beside.CPU = cpu
	}
	if err == nil && unknown != nil {
		say("the service's CPU quota is not known: %v; write its cpu.stat to a file for -cpu-stat", unknown)
	}
	if err == nil && failed != nil {
		say("no CPU profile: %v; the trace is used without, and running has no functions", failed)
	}
	return b, beside, err
}

// profile starts a CPU profile that outlasts the trace, which gets the samples. end stops it and
// says why it failed.
func (s *endpoint) profile(ctx context.Context) (end func() error) {
	u := *s.at
	if path.Base(u.Path) != "trace" {
		return func() error {
			return fmt.Errorf("%s does not end in /trace, so the URL of its profile is not known", s.url)
		}
	}
	u.Path = path.Join(path.Dir(u.Path), "profile")
	u.RawQuery = "seconds=" + strconv.Itoa(int(math.Ceil(s.seconds))+1)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.getProfile(ctx, u.String()) }()
	return func() error {
		defer cancel()
		select {
		case err := <-done:
			return err
		default:
		}
		cancel()
		<-done // the server ended it
		return nil
	}
}

func (s *endpoint) getProfile(ctx context.Context, at string) error {
	resp, err := fetch.Get(ctx, s.client, at)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		line := fetch.FirstLine(resp.Body)
		if strings.Contains(line, "in use") {
			line += ": one is being taken already, and its samples are in the trace"
		}
		return fmt.Errorf("%s answered %s%s", at, resp.Status, line)
	}
	var magic [2]byte
	if _, err := io.ReadFull(resp.Body, magic[:]); err != nil || string(magic[:]) != gzipMagic {
		return fmt.Errorf("%s answered at once, and it was no profile", at)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, observe.MaxProfileBytes))
	return err
}

const (
	heartbeat = 2 * time.Millisecond
	heartLate = 10 * time.Millisecond // of a beat
	mostLate  = 10_000
)

func watchMachine(ctx context.Context) (end func() *cpuwatch.Beside) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []cpuwatch.Interval, 1)
	watch := runfile.NewWatch(runfile.Watched{Elsewhere: true})
	go func() {
		var late []cpuwatch.Interval
		beat := time.NewTimer(heartbeat)
		defer beat.Stop()
		for last := time.Now(); ; {
			select {
			case <-beat.C:
			case <-ctx.Done():
				done <- late
				return
			}
			now := time.Now()
			if now.Sub(last) > heartbeat+heartLate && len(late) < mostLate {
				late = append(late, cpuwatch.Interval{From: last, To: now})
			}
			last = now
			beat.Reset(heartbeat)
		}
	}()
	return func() *cpuwatch.Beside {
		cancel()
		b := &cpuwatch.Beside{Late: <-done}
		if d := watch.End(); d != nil {
			percent, _ := d.Steal.Get()
			b.Steal = percent / 100
		}
		return b
	}
}

const (
	maxCmdline     = 1 << 20
	cmdlineTimeout = 5 * time.Second
)

// ReadCPU reads the file of -cpu-stat.
func ReadCPU(stat string, o *reqtrace.Options) error {
	in, err := os.Open(stat)
	if err != nil {
		return fmt.Errorf("-cpu-stat: %w", err)
	}
	defer in.Close()
	cpu, err := cpuwatch.ReadLog(in)
	if err != nil {
		return fmt.Errorf("-cpu-stat %s: %w", stat, err)
	}
	o.Beside = &cpuwatch.Beside{CPU: cpu}
	return nil
}

// watchCPU watches until end. unknown is why the quota is not known.
func (s *endpoint) watchCPU(ctx context.Context) (end func() *cpuwatch.CPU, unknown error) {
	end = func() *cpuwatch.CPU { return s.cpu }
	if s.cpu != nil {
		return end, nil
	}
	pid, err := s.service(ctx)
	if err == nil {
		var w *cpuwatch.Watch
		if w, err = cpuwatch.Start(pid, true); err == nil {
			return w.End, nil
		}
		end = w.End // of the threads only
	}
	return end, err
}

// service returns the local process that listens at the URL. The command line tells it from a
// proxy.
func (s *endpoint) service(ctx context.Context) (pid int, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmdlineTimeout)
	defer cancel()
	here, err := observe.Here(ctx, s.at)
	if err != nil {
		return 0, err
	}
	if len(here) == 0 {
		return 0, errors.New("the service is on another host")
	}
	pids := listeners.Processes(here)
	if len(pids) == 0 {
		return 0, errors.New("found no process that listens there")
	}
	line, err := s.commandLine(ctx)
	if err != nil {
		return 0, err
	}
	pids = slices.DeleteFunc(pids, func(pid int) bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err != nil || !bytes.Equal(bytes.TrimRight(b, "\x00"), line)
	})
	if len(pids) != 1 {
		return 0, errors.New("the process that listens there is not the one that answers")
	}
	return pids[0], nil
}

func (s *endpoint) commandLine(ctx context.Context) ([]byte, error) {
	at := *s.at
	at.Path, at.RawQuery = path.Join(path.Dir(at.Path), "cmdline"), ""
	line, err := fetch.Page(ctx, s.client, at.String(), maxCmdline, "it must be the service's /debug/pprof/cmdline")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.String(), err)
	}
	return bytes.TrimRight(line, "\x00"), nil
}
