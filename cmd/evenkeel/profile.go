package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

const (
	profileTimeout  = 30 * time.Second
	maxProfileBytes = 256 << 20
)

// allocations reads what a service has allocated since it started, from its /debug/pprof/.
type allocations struct {
	total   int64 // runtime.MemStats.TotalAlloc
	profile *profile.Profile
}

// errNoProfile says that the service does not serve its profiles.
var errNoProfile = errors.New("no allocation profile")

// profiler fetches allocation profiles from base, the URL of a /debug/pprof/.
type profiler struct {
	base   string
	client *http.Client
}

func newProfiler(base string, c *tls.Config) *profiler {
	t := &http.Transport{DisableKeepAlives: true, TLSClientConfig: c} // no connection of ours is left at the server
	return &profiler{base: strings.TrimSuffix(base, "/") + "/", client: &http.Client{Transport: t, Timeout: profileTimeout}}
}

// take has the service collect, since a profile holds what was allocated up to the last
// collection, and reads both figures. totalFirst says which of them is read first: the one
// that is nearer to the load must not see the other's own allocations.
func (p *profiler) take(ctx context.Context, totalFirst bool) (*allocations, error) {
	a := &allocations{}
	steps := []func() error{
		func() (err error) { a.profile, err = p.heap(ctx); return err },
		func() (err error) { a.total, err = p.totalAlloc(ctx); return err },
	}
	if totalFirst {
		slices.Reverse(steps)
	}
	for _, s := range steps {
		if err := s(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (p *profiler) heap(ctx context.Context) (*profile.Profile, error) {
	body, err := p.get(ctx, "heap?gc=1")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	prof, err := profile.Parse(io.LimitReader(body, maxProfileBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %sheap: %w", errNoProfile, p.base, err)
	}
	return prof, nil
}

// totalAlloc reads the exact figure from the text form of a heap profile, which ends with the
// fields of runtime.MemStats (runtime/pprof, writeHeapInternal).
func (p *profiler) totalAlloc(ctx context.Context) (int64, error) {
	body, err := p.get(ctx, "allocs?debug=1")
	if err != nil {
		return 0, err
	}
	defer body.Close()
	for sc := bufio.NewScanner(io.LimitReader(body, maxProfileBytes)); sc.Scan(); {
		if v, ok := strings.CutPrefix(sc.Text(), "# TotalAlloc = "); ok {
			return strconv.ParseInt(v, 10, 64)
		}
	}
	return 0, fmt.Errorf("%w: %sallocs?debug=1 has no TotalAlloc", errNoProfile, p.base)
}

func (p *profiler) get(ctx context.Context, what string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+what, nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoProfile, err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%w: %s answered %s", errNoProfile, p.base+what, resp.Status)
	}
	return resp.Body, nil
}
