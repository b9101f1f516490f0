package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/internal/cpuwatch"
	"evenkeel.dev/internal/listeners"
	"evenkeel.dev/reqtrace"
)

const (
	noProcess      = -1 // -cpu-stat names a file
	maxCmdline     = 1 << 20
	cmdlineTimeout = 5 * time.Second
)

// CPUProcess returns the process that -cpu-stat names, or 0.
func CPUProcess(stat string) int {
	pid, err := strconv.Atoi(stat)
	if err != nil || pid < 1 {
		return 0
	}
	return pid
}

// ReadCPU reads the file of -cpu-stat, or returns its process.
func ReadCPU(stat string, o *reqtrace.Options) (pid int, err error) {
	if pid = CPUProcess(stat); stat == "" || pid != 0 {
		return pid, nil
	}
	in, err := os.Open(stat)
	if err != nil {
		return 0, fmt.Errorf("-cpu-stat: %w", err)
	}
	defer in.Close()
	cpu, err := cpuwatch.ReadLog(in)
	if err != nil {
		return 0, fmt.Errorf("-cpu-stat %s: %w", stat, err)
	}
	o.Beside = &reqtrace.Beside{CPU: cpu}
	return 0, nil
}

// watchCPU watches the service's CPU time until end. say tells why the quota is not known.
func (s *endpoint) watchCPU(ctx context.Context, say func(format string, a ...any)) (end func() *reqtrace.CPU) {
	end = func() *reqtrace.CPU { return nil }
	if s.process == noProcess {
		return end
	}
	pid, err := s.process, error(nil)
	if pid == 0 {
		pid, err = s.service(ctx)
	}
	if err == nil {
		var w *cpuwatch.Watch
		if w, err = cpuwatch.Start(pid, true); err == nil {
			return w.End
		}
		end = w.End // of the threads only
	}
	say("the service's CPU quota is not known: %v; name its process or a file with -cpu-stat", err)
	return end
}

// service returns the local process that listens at the URL and has the reported command line,
// unlike a proxy.
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
