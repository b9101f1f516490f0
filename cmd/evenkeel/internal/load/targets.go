package load

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev"
	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

type mixFlags struct {
	File     string
	template bool
	seed     *uint64 // nil: a new one
	Share    *runfile.Share

	Made  *runfile.Mix
	named []string
}

const (
	maxTargetsBytes = 256 << 20
	targetForm      = "write 'METHOD URL weight=N class=NAME', and below it 'Name: value' and @BODYFILE"
)

func (m *mixFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&m.File, "targets", "", "`file` of requests, as vegeta has them; - for standard input")
	fs.BoolVar(&m.template, "template", false,
		"expand {{int 1 100}}, {{line \"FILE\"}} and {{seq}} in URLs, headers and bodies")
}

type spec struct {
	at     string // FILE:LINE, or a URL
	target loadgen.Target
	class  string
}

func (s *spec) fail(err error) error {
	if oe, ok := errors.AsType[*evenkeel.OptionError](err); ok {
		err = errors.New(oe.Reason)
	}
	return fmt.Errorf("%s: %w", s.at, err)
}

func (m *mixFlags) targets(o *loadgen.Options, urls []string, base loadgen.Target) error {
	var specs []spec
	for _, u := range urls {
		t := base
		t.URL = fetch.WithScheme(u)
		specs = append(specs, spec{at: strconv.Quote(u), target: t})
	}
	if m.File != "" {
		var err error
		if specs, err = m.read(urls, base); err != nil {
			return err
		}
		m.Made = &runfile.Mix{File: m.File, Made: len(specs)}
	}
	for i := range specs {
		complete(&specs[i].target)
	}
	if m.template {
		made, err := m.expand(specs, o)
		if err != nil {
			return err
		}
		m.Made = &runfile.Mix{File: m.File, Seed: m.seed, Made: len(made)}
		specs = made
	}
	for i := range specs {
		s := &specs[i]
		s.target.Class = cmp.Or(s.target.Class, s.class)
		if m.Made != nil { // loadgen only knows its number
			if err := loadgen.Check(loadgen.Options{Targets: []loadgen.Target{s.target}}); err != nil {
				return s.fail(err)
			}
		}
		o.Targets = append(o.Targets, s.target)
	}
	return nil
}

func complete(t *loadgen.Target) {
	if t.Method == "" {
		t.Method = http.MethodGet
		if len(t.Body) > 0 {
			t.Method = http.MethodPost
		}
	}
	if len(t.Body) > 0 && t.Header.Get("Content-Type") == "" {
		t.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
}

func (m *mixFlags) read(urls []string, base loadgen.Target) ([]spec, error) {
	if len(urls) > 1 {
		return nil, fmt.Errorf("%d URLs with -targets; give one, for the targets that begin with /, or none", len(urls))
	}
	in, name, err := cli.Open(m.File)
	if err != nil {
		return nil, fmt.Errorf("-targets: %w", err)
	}
	defer in.Close()
	p := targetParser{name: name, base: base, bodies: map[string][]byte{}}
	if len(urls) == 1 {
		p.below = strings.TrimSuffix(fetch.WithScheme(urls[0]), "/")
	}
	if err := p.parse(in); err != nil {
		return nil, err
	}
	m.named = slices.Collect(maps.Keys(p.bodies))
	if len(p.specs) == 0 {
		return nil, fmt.Errorf("-targets %s: no target in it; %s", name, targetForm)
	}
	return p.specs, nil
}

// targetParser reads a file of targets.
//
//	METHOD URL weight=N class=NAME     a target, of which all but the URL is optional
//	Name: value                        a header of the target above
//	@FILE                              its body
//	# ...                              nothing
type targetParser struct {
	name  string
	base  loadgen.Target
	below string

	line   int
	specs  []spec
	bodies map[string][]byte
	bytes  int
}

func (p *targetParser) at() string { return fmt.Sprintf("%s:%d", p.name, p.line) }

func (p *targetParser) parse(in io.Reader) error {
	return eachLine(in, p.name, maxTargetsBytes, func(n int, text string) error {
		p.line = n
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			return nil
		}
		if err := p.text(text); err != nil {
			return fmt.Errorf("%s: %w", p.at(), err)
		}
		if len(p.specs) > loadgen.MaxTargets {
			return fmt.Errorf("%s: over %d targets; write fewer, or a -template", p.at(), loadgen.MaxTargets)
		}
		return nil
	})
}

// eachLine numbers lines from 1. It fails beyond most bytes.
func eachLine(in io.Reader, name string, most int64, do func(n int, line string) error) error {
	limited := &io.LimitedReader{R: in, N: most}
	sc := bufio.NewScanner(limited)
	sc.Buffer(nil, int(most))
	for n := 1; sc.Scan(); n++ {
		if err := do(n, sc.Text()); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if limited.N == 0 {
		return fmt.Errorf("%s: over %d MiB", name, most>>20)
	}
	return nil
}

var (
	headerLine = regexp.MustCompile(`^[!#$%&'*+.^_|~0-9A-Za-z-]+:([ \t]|$)`)
	methodWord = regexp.MustCompile(`^[A-Z][A-Z-]*$`)
	// templateWord may have blanks in an action of a template.
	templateWord = regexp.MustCompile(`(?:\{\{.*?(?:\}\}|$)|[^ \t])+`)
)

func (p *targetParser) text(line string) error {
	var last *loadgen.Target
	if n := len(p.specs); n > 0 {
		last = &p.specs[n-1].target
	}
	body, isBody := strings.CutPrefix(line, "@")
	isHeader := headerLine.MatchString(line)
	switch {
	case (isBody || isHeader) && last == nil:
		return fmt.Errorf("%q belongs to no target, because none is above it; %s", line, targetForm)
	case isBody:
		b, err := p.body(strings.TrimSpace(body))
		if err != nil {
			return err
		}
		last.Body = b
		return nil
	case isHeader:
		name, value, _ := strings.Cut(line, ":")
		last.Header.Set(name, strings.TrimSpace(value))
		return nil
	}
	words := templateWord.FindAllString(line, -1)
	method := ""
	if methodWord.MatchString(words[0]) && len(words) > 1 {
		method, words = words[0], words[1:]
	}
	t, err := p.target(method, words[0])
	if err != nil {
		return err
	}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		switch {
		case name == "class" && value != "":
			t.Class = value
		case name == "weight":
			if t.Weight, err = strconv.Atoi(value); err != nil || t.Weight < 1 || t.Weight > loadgen.MaxTargets {
				return fmt.Errorf("%q: write weight=N with N from 1 to %d", w, loadgen.MaxTargets)
			}
		default:
			return fmt.Errorf("%q is neither weight=N nor class=NAME; %s", w, targetForm)
		}
	}
	p.specs = append(p.specs, spec{at: p.at(), target: t})
	return nil
}

func (p *targetParser) target(method, url string) (loadgen.Target, error) {
	t := p.base
	t.Header = t.Header.Clone()
	if t.Header == nil {
		t.Header = http.Header{}
	}
	if method != "" {
		t.Method = method
	}
	switch {
	case !strings.HasPrefix(url, "/"):
		t.URL = fetch.WithScheme(url)
	case p.below == "":
		return t, fmt.Errorf("%q has no URL above it; give one on the command line, or write it whole", url)
	default:
		t.URL = p.below + url
	}
	return t, nil
}

func (p *targetParser) body(name string) ([]byte, error) {
	if b, ok := p.bodies[name]; ok {
		return b, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("body @%s: %w; write a path from the folder that evenkeel runs in", name, err)
	}
	defer f.Close()
	b, err := fetch.AtMost(f, int64(maxBodyBytes-p.bytes))
	if err != nil {
		return nil, fmt.Errorf("body @%s: %w", name, err)
	}
	p.bytes += len(b)
	p.bodies[name] = b
	return b, nil
}

func (l *Flags) Inputs() []string {
	return append([]string{l.BodyFile, l.Shape.times, l.Mix.File}, l.Mix.named...)
}
