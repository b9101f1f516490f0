package load

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/loadgen"
)

// fileIn makes a file of a folder that goes with the test.
func fileIn(t testing.TB, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// targetsOf are the targets that flags and URLs make, each in a line.
func targetsOf(t testing.TB, m mixFlags, urls ...string) (lines []string, err error) {
	t.Helper()
	o := loadgen.Options{Requests: 6}
	err = m.targets(&o, urls, loadgen.Target{Header: map[string][]string{"X-All": {"1"}}})
	for _, x := range o.Targets {
		line := x.Method + " " + x.URL
		for _, name := range []string{"A", "X-All", "Content-Type"} {
			for _, v := range x.Header.Values(name) {
				line += " " + name + "=" + v
			}
		}
		if len(x.Body) > 0 {
			line += fmt.Sprintf(" %q", x.Body)
		}
		if x.Weight > 0 {
			line += fmt.Sprint(" weight ", x.Weight)
		}
		if x.Class != "" {
			line += " class " + x.Class
		}
		lines = append(lines, line)
	}
	return lines, err
}

func TestTargetsFile(t *testing.T) {
	dir := t.TempDir()
	body := fileIn(t, dir, "body.json", `{"a":1}`)
	const form = " Content-Type=application/x-www-form-urlencoded"
	for _, tt := range []struct {
		name, text, url string
		want            []string
	}{
		{"one a line", "http://h/a\n\n# a comment\r\n  GET http://h/b\r\nh:81/c\n", "", []string{
			"GET http://h/a X-All=1", "GET http://h/b X-All=1", "GET http://h:81/c X-All=1",
		}},
		{"weights and classes", "/a?x=1 weight=9\nPUT /b class=write weight=2", "h:80/base/", []string{
			"GET http://h:80/base/a?x=1 X-All=1 weight 9", "PUT http://h:80/base/b X-All=1 weight 2 class write",
		}},
		{
			"vegeta's", "GET http://h/a\nA: b: c\nX-All: 2\n\nPOST http://h/b\nContent-Type: application/json\n@" +
				body + "\nhttp://h/c\n@" + body, "",
			[]string{
				"GET http://h/a A=b: c X-All=2", `POST http://h/b X-All=1 Content-Type=application/json "{\"a\":1}"`,
				`POST http://h/c X-All=1` + form + ` "{\"a\":1}"`,
			},
		},
	} {
		var urls []string
		if tt.url != "" {
			urls = []string{tt.url}
		}
		got, err := targetsOf(t, mixFlags{File: fileIn(t, dir, "targets", tt.text)}, urls...)
		if d := cmp.Diff(tt.want, got); d != "" || err != nil {
			t.Errorf("%s: %v, -want +got %s", tt.name, err, d)
		}
	}
}

// TestTargetsFileIsWrong wants file and line, and what to write.
func TestTargetsFileIsWrong(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ text, want string }{
		{"", "no target in it; write 'METHOD URL"},
		{"# nothing\n", "no target in it"},
		{"http://h/\n/b", "targets:2: \"/b\" has no URL above it; give one on the command line"},
		{"http://h/\n\nftp://h/", "targets:3: \"ftp://h/\" is not an http or https URL; write it as"},
		{"http://h:99999/", "targets:1: \"http://h:99999/\": port 99999"},
		{"A: b", "targets:1: \"A: b\" belongs to no target, because none is above it"},
		{"@body", "targets:1: \"@body\" belongs to no target"},
		{"http://h/\n@" + dir + "/none", "targets:2: body @" + dir + "/none: open"},
		{"http://h/ weight=0", "targets:1: \"weight=0\": write weight=N with N from 1"},
		{"http://h/ weight=x", "targets:1: \"weight=x\": write weight=N"},
		{"http://h/ twice", "targets:1: \"twice\" is neither weight=N nor class=NAME"},
		{"http://h/\nContent-Length: 5", "targets:1: header Content-Length is set by the client"},
		{"CONNECT http://h/", "targets:1: method CONNECT opens a tunnel"},
		{`{"url": "http://h/", "method": "PUT"}`, "targets:1: "},
	} {
		_, err := targetsOf(t, mixFlags{File: fileIn(t, dir, "targets", tt.text)})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
	if _, err := targetsOf(t, mixFlags{File: fileIn(t, dir, "targets", "http://h/")}, "http://a",
		"http://b"); err == nil {
		t.Error("two URLs beside a file are taken")
	}
	if _, err := targetsOf(t, mixFlags{File: filepath.Join(dir, "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestTemplates makes the same requests of the same seed, and others of another.
func TestTemplates(t *testing.T) {
	dir := t.TempDir()
	users := fileIn(t, dir, "users", "ann\r\n\nbob\ncy\n")
	file := fileIn(t, dir, "targets", `GET http://h/{{int 1 1000}}/{{line "`+users+`"}}?n={{seq}} weight=2
A: {{int 7 7}}
POST http://h/b class=write
@`+fileIn(t, dir, "body", `{"n":{{seq 100}}}`))
	seed := uint64(5)
	m := mixFlags{File: file, template: true, seed: &seed}
	first, err := targetsOf(t, m)
	if err != nil || len(first) != 6 {
		t.Fatal(first, err)
	}
	again, err := targetsOf(t, m)
	if d := cmp.Diff(first, again); d != "" || err != nil {
		t.Errorf("%v, the same seed: %s", err, d)
	}
	const class = ` class GET http://h/{{int 1 1000}}/{{line "`
	if !strings.Contains(first[0], "?n=1 A=7 X-All=1"+class) ||
		first[1] != `POST http://h/b X-All=1 Content-Type=application/x-www-form-urlencoded `+
			`"{\"n\":101}" class write` ||
		!strings.Contains(first[5], "?n=6 ") {
		t.Errorf("%q", first)
	}
	other := uint64(6)
	m.seed = &other
	if others, err := targetsOf(t, m); err != nil || cmp.Equal(first, others) {
		t.Errorf("%v, another seed makes the same: %q", err, others)
	}

	for _, tt := range []struct{ url, want string }{
		{"h/{{int 1}}", "request 1: template: URL:1:"},
		{"h/{{int 2 1}}", "write the smaller number first"},
		{"h/{{line \"" + dir + "/none\"}}", "no such file"},
		{"h/{{line \"" + fileIn(t, dir, "empty", "\n") + "\"}}", "no line in it"},
		{"h/{{nothing}}", `function "nothing" not defined`},
		{"h/{{seq 1 2}}", "seq takes one number at most"},
		{"h/{{.X}}", "nil data"},
		{"h:{{int 70000 70000}}/", "request 1: \"http://h:70000/\": port"},
		{"h/{{range 100000000}}0123456789{{end}}", "it makes over 16777216 bytes"},
	} {
		_, err := targetsOf(t, mixFlags{template: true, seed: &seed}, tt.url)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), `"h`) {
			t.Errorf("%s: %v, want %q", tt.url, err, tt.want)
		}
	}
}

// TestTemplateRandom sees both ends of a range, and none beyond; the whole range does not overflow.
func TestTemplateRandom(t *testing.T) {
	g := &generator{seed: 1}
	seen := map[int64]bool{}
	const all = "{{int -2 1}}{{int -9223372036854775808 9223372036854775807}}"
	p, err := g.parse(&spec{target: loadgen.Target{URL: all}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if _, _, err := g.make(p, int64(i)); err != nil {
			t.Fatal(err)
		}
		n, err := g.int(-2, 1)
		if err != nil || n < -2 || n > 1 {
			t.Fatal(n, err)
		}
		seen[n] = true
	}
	if len(seen) != 4 {
		t.Errorf("of -2 to 1 came %v", seen)
	}
}

func TestPlanned(t *testing.T) {
	for _, tt := range []struct {
		o    loadgen.Options
		want float64
	}{
		{loadgen.Options{}, 200},
		{loadgen.Options{Requests: 7}, 7},
		{loadgen.Options{Duration: 1e9}, math.Inf(1)},
		{loadgen.Options{Duration: 2e9, Rate: 50.5}, 101},
		{loadgen.Options{Duration: 2e9, Rate: 50, Requests: 10}, 10},
		{loadgen.Options{Duration: 86400e9, Rate: 1e6}, 86400e6},
		{loadgen.Options{Stages: []loadgen.Stage{{To: 50, Duration: 10e9}}}, 250},
		{loadgen.Options{Times: []time.Duration{0, 1, 2}}, 3},
	} {
		if got := Planned(&tt.o); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.o, got, tt.want)
		}
	}
}

// FuzzTargets holds what is taken to what loadgen takes, and each error to a line.
func FuzzTargets(f *testing.F) {
	for _, s := range []string{
		"GET http://h/a weight=3 class=x\nA: b\n\nh/b",
		"{{x}}", "@", "A: b", "GET", "{",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "@") {
			return // it could name any file
		}
		p := targetParser{name: "f", below: "http://below", bodies: map[string][]byte{}}
		err := p.parse(strings.NewReader(text))
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%q: %v", text, err)
		}
		for i := range p.specs {
			s := &p.specs[i]
			if s.target.Weight < 0 || s.target.Weight > loadgen.MaxTargets || s.target.URL == "" ||
				s.target.Header == nil {
				t.Errorf("%q: %+v", text, s.target)
			}
		}
		if err == nil && strings.TrimSpace(text) == "" && len(p.specs) > 0 {
			t.Errorf("%q makes targets", text)
		}
	})
}
