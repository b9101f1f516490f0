package observe

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

const (
	profileTimeout  = 30 * time.Second
	MaxProfileBytes = 256 << 20

	// Places is how many lines that allocate are listed.
	Places = 8
)

type allocations struct {
	*memStats
	profile *profile.Profile
}

type memStats struct {
	total         int64
	numGC, forced int64
	pauses        []int64 // ring: collection n is at (n-1) modulo its length
	pauseEnd      []int64
}

var errNoProfile = errors.New("no allocation profile")

// PProfPath is the default path of net/http/pprof.
const PProfPath = "/debug/pprof/"

type Profiler struct {
	Base   string
	client *http.Client
}

// NewProfiler returns a profiler of the service at base.
func NewProfiler(base string, c *tls.Config) *Profiler {
	return &Profiler{Base: strings.TrimSuffix(base, "/") + "/", client: fetch.NewClient(profileTimeout, c)}
}

// take makes the service collect, because a profile ends at the last collection. After the load
// totalFirst is set, so that no figure counts the other's allocations.
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

// memStats reads the end of a text profile (runtime/pprof, writeHeapInternal).
func (p *Profiler) memStats(ctx context.Context) (*memStats, error) {
	body, err := p.get(ctx, "allocs?debug=1")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	m := &memStats{total: -1}
	counts := map[string]*int64{"# TotalAlloc": &m.total, "# NumGC": &m.numGC, "# NumForcedGC": &m.forced}
	rings := map[string]*[]int64{"# PauseNs": &m.pauses, "# PauseEnd": &m.pauseEnd}
	for sc := bufio.NewScanner(io.LimitReader(body, MaxProfileBytes)); sc.Scan(); {
		name, value, _ := strings.Cut(sc.Text(), " = ")
		if to := rings[name]; to != nil {
			*to = parseRing(value)
		}
		if to := counts[name]; to != nil {
			if *to, err = parseCount(value); err != nil {
				return nil, fmt.Errorf("%w: %sallocs?debug=1: %s: %w", errNoProfile, p.Base, name, err)
			}
		}
	}
	if m.total < 0 {
		return nil, fmt.Errorf("%w: %sallocs?debug=1 has no TotalAlloc", errNoProfile, p.Base)
	}
	return m, nil
}

func parseCount(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func (p *Profiler) get(ctx context.Context, what string) (io.ReadCloser, error) {
	resp, err := fetch.Get(ctx, p.client, p.Base+what)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoProfile, err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%w: %s answered %s", errNoProfile, p.Base+what, resp.Status)
	}
	return resp.Body, nil
}

func (a *allocations) since(before *allocations, top int) (*runfile.Alloc, error) {
	before.profile.Scale(-1)
	delta, err := profile.Merge([]*profile.Profile{a.profile, before.profile})
	if err != nil {
		return nil, fmt.Errorf("allocation profiles before and after do not fit together: %w", err)
	}
	index := slices.IndexFunc(delta.SampleType, func(t *profile.ValueType) bool { return t.Type == "alloc_space" })
	if index < 0 {
		return nil, fmt.Errorf("%w: the heap profile has no alloc_space", errNoProfile)
	}
	lines, sampled := map[runfile.Site]int64{}, int64(0)
	for _, s := range delta.Sample {
		sampled += s.Value[index]
		if line, ok := lineOf(s); ok {
			lines[line] += s.Value[index]
		}
	}
	return &runfile.Alloc{
		Bytes: a.total - before.total, Source: runfile.FromMemStats, Sampled: sampled, Lines: largest(lines, top),
	}, nil
}

// lineOf prefers the innermost line outside the standard library.
func lineOf(s *profile.Sample) (line runfile.Site, ok bool) {
	for _, loc := range s.Location {
		for _, l := range loc.Line {
			if l.Function == nil {
				continue
			}
			own := !reqtrace.InStandardLibrary(l.Function.Name)
			if own || !ok {
				line = runfile.Site{Name: l.Function.Name, File: shortFile(l.Function.Filename), Line: l.Line}
			}
			if ok = true; own {
				return line, true
			}
		}
	}
	return line, ok
}

func largest(lines map[runfile.Site]int64, n int) []runfile.Site {
	var list []runfile.Site
	for line, bytes := range lines {
		if line.Flat = bytes; bytes > 0 {
			list = append(list, line)
		}
	}
	slices.SortFunc(list, func(a, b runfile.Site) int {
		return cmp.Or(cmp.Compare(b.Flat, a.Flat), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Line, b.Line))
	})
	return list[:min(n, len(list))]
}

func shortFile(f string) string {
	dir, file := path.Split(f)
	return path.Join(path.Base(dir), file)
}

// WriteSites writes nothing without lines.
func WriteSites(w io.Writer, a *runfile.Alloc, s textfmt.Style) error {
	if len(a.Lines) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.Dim("lines that allocate, the innermost outside the standard library"))
	t := textfmt.NewTable(3)
	for _, x := range a.Lines {
		t.Row(fmt.Sprintf("  %s:%d %s", x.File, x.Line, x.Name), textfmt.Bytes(float64(x.Flat)),
			textfmt.Percent(float64(x.Flat)/float64(max(a.Sampled, 1))*100))
	}
	t.Render(&b)
	_, err := io.WriteString(w, b.String())
	return err
}
