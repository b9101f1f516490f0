package traces

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/reqtrace"
)

// fetchBeside takes the trace, with a CPU profile whose samples land in it, and watches the machine
// if the service runs here. say tells what is missing.
func (s *endpoint) fetchBeside(
	ctx context.Context, profiled bool, say func(format string, a ...any),
) (*spool, *reqtrace.Beside, error) {
	if s.seconds == 0 {
		b, err := s.fetch(ctx)
		return b, nil, err
	}
	seen := func() *reqtrace.Beside { return nil }
	if here, err := observe.Here(ctx, s.at); err == nil && len(here) > 0 {
		seen = watchMachine(ctx)
	}
	watched := s.watchCPU(ctx, say)
	end := func() error { return nil }
	if profiled {
		end = s.profile(ctx)
	}
	b, err := s.fetch(ctx)
	cpu, beside, failed := watched(), seen(), end()
	if cpu != nil {
		if beside == nil {
			beside = &reqtrace.Beside{}
		}
		beside.CPU = cpu
	}
	if err == nil && failed != nil {
		say("no CPU profile: %v; the trace is used without, and running has no functions", failed)
	}
	return b, beside, err
}

// profile starts a CPU profile that outlasts the trace, which has the samples. end stops it, and
// says why it failed.
func (s *endpoint) profile(ctx context.Context) (end func() error) {
	u := *s.at
	if path.Base(u.Path) != "trace" {
		return func() error {
			return fmt.Errorf("%s does not end in /trace, so where its profile is cannot be told", s.url)
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
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
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

func watchMachine(ctx context.Context) (end func() *reqtrace.Beside) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan []reqtrace.Interval, 1)
	watch := runfile.NewWatch(runfile.Watched{Elsewhere: true})
	go func() {
		var late []reqtrace.Interval
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
				late = append(late, reqtrace.Interval{From: last, To: now})
			}
			last = now
			beat.Reset(heartbeat)
		}
	}()
	return func() *reqtrace.Beside {
		cancel()
		b := &reqtrace.Beside{Late: <-done}
		if d := watch.End(); d != nil {
			percent, _ := d.Steal.Get()
			b.Steal = percent / 100
		}
		return b
	}
}
