package observe

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

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
)

const (
	profileTimeout  = 30 * time.Second
	MaxProfileBytes = 256 << 20
)

type allocations struct {
	*memStats
	profile *profile.Profile
}

type memStats struct {
	total         int64
	numGC, forced int64
	pauses        []int64 // ring: collection n, from 1, is at (n-1) modulo its length
	pauseEnd      []int64 // of the same
}

var errNoProfile = errors.New("no allocation profile")

// PProfPath is the default path of net/http/pprof.
const PProfPath = "/debug/pprof/"

// Profiler fetches allocation profiles from Base, the URL of a /debug/pprof/.
type Profiler struct {
	Base   string
	client *http.Client
}

// NewProfiler returns a profiler of the service at base.
func NewProfiler(base string, c *tls.Config) *Profiler {
	return &Profiler{Base: strings.TrimSuffix(base, "/") + "/", client: fetch.NewClient(profileTimeout, c)}
}

// take makes the service collect, because a profile ends at the last collection. totalFirst is set
// after the load, so that no figure counts the other's allocations.
func (p *Profiler) take(ctx context.Context, totalFirst bool) (*allocations, error) {
	a := &allocations{}
	steps := []func() error{
		func() (err error) { a.profile, err = p.heap(ctx); return err },
		func() (err error) { a.memStats, err = p.memStats(ctx); return err },
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

func (p *Profiler) heap(ctx context.Context) (*profile.Profile, error) {
	body, err := p.get(ctx, "heap?gc=1")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	prof, err := profile.Parse(io.LimitReader(body, MaxProfileBytes))
	if err != nil {
		return nil, fmt.Errorf("%w: %sheap: %w", errNoProfile, p.Base, err)
	}
	return prof, nil
}

// memStats reads the end of the text form of a profile (runtime/pprof, writeHeapInternal).
func (p *Profiler) memStats(ctx context.Context) (*memStats, error) {
	body, err := p.get(ctx, "allocs?debug=1")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	m := &memStats{total: -1}
	for sc := bufio.NewScanner(io.LimitReader(body, MaxProfileBytes)); sc.Scan(); {
		name, value, ok := strings.Cut(sc.Text(), " = ")
		if !ok {
			continue
		}
		var err error
		switch name {
		case "# TotalAlloc":
			m.total, err = parseCount(value)
		case "# NumGC":
			m.numGC, err = parseCount(value)
		case "# NumForcedGC":
			m.forced, err = parseCount(value)
		case "# PauseNs":
			m.pauses = parseRing(value)
		case "# PauseEnd":
			m.pauseEnd = parseRing(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %sallocs?debug=1: %s: %w", errNoProfile, p.Base, name, err)
		}
	}
	if m.total < 0 {
		return nil, fmt.Errorf("%w: %sallocs?debug=1 has no TotalAlloc", errNoProfile, p.Base)
	}
	return m, nil
}

func parseCount(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func (p *Profiler) get(ctx context.Context, what string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Base+what, nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoProfile, err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%w: %s answered %s", errNoProfile, p.Base+what, resp.Status)
	}
	return resp.Body, nil
}
