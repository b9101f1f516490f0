package load

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/template"

	"evenkeel.dev/loadgen"
)

const (
	maxDistinct      = 10000 // requests; then they repeat
	maxRenderedBytes = 16 << 20
	maxMadeBytes     = 1 << 30
	maxLinesBytes    = 256 << 20
)

// generator makes requests from templates, each independent of those before. One goroutine owns it.
type generator struct {
	seed  uint64
	lines map[string][]string

	number int64
	random *rand.Rand
}

func (g *generator) functions() template.FuncMap {
	return template.FuncMap{"int": g.int, "line": g.line, "seq": g.seq}
}

func (g *generator) int(lo, hi int64) (int64, error) {
	if lo > hi {
		return 0, fmt.Errorf("int %d %d: write the smaller number first", lo, hi)
	}
	if span := uint64(hi) - uint64(lo); span < math.MaxUint64 {
		return int64(uint64(lo) + g.random.Uint64N(span+1)), nil
	}
	return int64(g.random.Uint64()), nil
}

func (g *generator) line(name string) (string, error) {
	if g.lines[name] == nil {
		lines, err := readLines(name)
		if err != nil {
			return "", err
		}
		g.lines[name] = lines
	}
	return g.lines[name][g.random.IntN(len(g.lines[name]))], nil
}

func (g *generator) seq(from ...int64) (int64, error) {
	switch len(from) {
	case 0:
		return g.number + 1, nil
	case 1:
		return g.number + from[0], nil
	}
	return 0, errors.New("seq takes one number at most: that of the first request")
}

func readLines(name string) (lines []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = eachLine(f, name, maxLinesBytes, func(_ int, l string) error {
		if l = strings.TrimSuffix(l, "\r"); l != "" {
			lines = append(lines, l)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s: no line in it", name)
	}
	return lines, nil
}

type pattern struct {
	*spec
	url, body *template.Template
	header    map[string][]*template.Template
}

func (g *generator) parse(s *spec) (p *pattern, err error) {
	parse := func(what, text string) *template.Template {
		t, e := template.New(what).Option("missingkey=error").Funcs(g.functions()).Parse(text)
		if e != nil && err == nil {
			err = fmt.Errorf("%s: %w", s.at, e)
		}
		return t
	}
	p = &pattern{
		spec: s, url: parse("URL", s.target.URL), body: parse("body", string(s.target.Body)),
		header: map[string][]*template.Template{},
	}
	for name, values := range s.target.Header {
		for _, v := range values {
			p.header[name] = append(p.header[name], parse("header "+name, v))
		}
	}
	return p, err
}

func (g *generator) make(p *pattern, number int64) (loadgen.Target, int, error) {
	g.number, g.random = number, rand.New(rand.NewPCG(g.seed, uint64(number)))
	size := 0
	render := func(t *template.Template) (string, error) {
		b := bounded{most: maxRenderedBytes}
		err := t.Execute(&b, nil)
		size += b.Len()
		return b.String(), err
	}
	t := p.target
	var err error
	if t.URL, err = render(p.url); err != nil {
		return t, size, err
	}
	t.Header = http.Header{}
	for _, name := range slices.Sorted(maps.Keys(p.header)) { // in order, for the random values
		for _, v := range p.header[name] {
			value, err := render(v)
			if err != nil {
				return t, size, err
			}
			t.Header[name] = append(t.Header[name], value)
		}
	}
	body, err := render(p.body)
	t.Body, t.Weight = []byte(body), 0
	return t, size, err
}

// expand makes requests in the order of the targets' round.
func (m *mixFlags) expand(specs []spec, o *loadgen.Options) ([]spec, error) {
	if m.seed == nil {
		seed := rand.Uint64N(1<<53-1) + 1 // exact in JSON readers
		m.seed = &seed
	}
	g := &generator{seed: *m.seed, lines: map[string][]string{}}
	var patterns []*pattern
	var targets []loadgen.Target
	for i := range specs {
		p, err := g.parse(&specs[i])
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
		targets = append(targets, specs[i].target)
	}
	if len(specs) == 0 {
		return nil, nil
	}
	round, err := loadgen.Round(targets)
	if err != nil {
		return nil, FlagError(err)
	}
	n := int(max(1, min(Planned(o), maxDistinct)))
	index, of := int64(0), int64(1)
	if m.Share != nil {
		index, of = int64(m.Share.Index), int64(m.Share.Of)
	}
	made, bytes := make([]spec, 0, n), 0
	for i := range n {
		p := patterns[round[i%len(round)]]
		t, size, err := g.make(p, int64(i)*of+index)
		if err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", p.at, i+1, err)
		}
		if bytes += size; bytes > maxMadeBytes {
			return nil, fmt.Errorf("%s: the requests are over %d MiB after %d of them; make them smaller", p.at,
				maxMadeBytes>>20, i)
		}
		made = append(made, spec{
			at: fmt.Sprintf("%s: request %d", p.at, i+1), target: t,
			class: p.target.Method + " " + p.target.URL, // one class, however many URLs
		})
	}
	m.named = slices.AppendSeq(m.named, maps.Keys(g.lines))
	return made, nil
}

// Planned returns how many requests a load sends. +Inf means that nothing limits them.
func Planned(o *loadgen.Options) float64 {
	n := math.Inf(1)
	switch {
	case o.Requests > 0:
		n = float64(o.Requests)
	case loadDuration(o) == 0:
		n = defaultRequests
	}
	switch {
	case len(o.Times) > 0:
		n = min(n, float64(len(o.Times)))
	case len(o.Stages) > 0:
		mean := *o
		Steady(&mean)
		n = min(n, mean.Rate*loadDuration(o).Seconds())
	case o.Rate > 0 && o.Duration > 0:
		n = min(n, o.Rate*o.Duration.Seconds())
	}
	return math.Ceil(n - 1e-6) // at constant gaps the first is due at once
}

type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, fmt.Errorf("it makes over %d bytes", b.most)
	}
	return b.Buffer.Write(p)
}
