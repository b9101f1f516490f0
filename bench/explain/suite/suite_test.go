//go:build linux

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTruths: plants have numbers of their own, and a truth that can be judged.
func TestTruths(t *testing.T) {
	seen := map[int]bool{}
	for _, p := range slices.Concat(plants, laterPlants, realPrograms) {
		tr := &p.truth
		switch {
		case p.number <= 0 || seen[p.number]:
			t.Errorf("%q has the number %d, which is none or another's", p.name, p.number)
		case p.program == "" || p.load.small == "":
			t.Errorf("%d has no program or no load", p.number)
		case p.load.grpc && (p.load.bodies[0] == nil || p.load.large != "" && p.load.bodies[1] == nil):
			t.Errorf("%d has calls without a body", p.number)
		case len(tr.causes) == 0 && (len(tr.at) > 0 || len(tr.holder) > 0 || len(tr.doing) > 0 || len(tr.ops) > 0):
			t.Errorf("%d has no cause, but a place", p.number)
		case len(tr.doing) > 0 && len(tr.holder) == 0:
			t.Errorf("%d has nobody who did what it says", p.number)
		}
		for _, f := range append(append([]string{}, tr.at...), tr.holder...) {
			if f != function(f) || !strings.Contains(f, ".") {
				t.Errorf("%d: %q is no function as judge compares them", p.number, f)
			}
		}
		seen[p.number] = true
	}
}

func TestJudge(t *testing.T) {
	lock := truth{
		causes: []string{"lock"}, at: []string{"main.(*prices).of"}, holder: []string{"main.(*prices).reload"},
		doing: []string{"network"}, ops: []string{"mutex"},
	}
	right := said{Cause: "lock", Site: "main.(*prices).of (stock.go:33)", Holder: "main.(*prices).reload.func1 (stock.go:44)", Doing: "network", Op: "mutex"}
	all := grade{true, true, true, true, true}
	cases := []struct {
		name string
		said func(s *said)
		t    truth
		want grade
	}{
		{"all is right", func(*said) {}, lock, all},
		{"another cause", func(s *said) { s.Cause = "channel" }, lock, grade{false, true, true, true, true}},
		{"another place", func(s *said) { s.Site = "net.(*netFD).Read (fd.go:1)" }, lock, grade{true, false, true, true, true}},
		{"no holder", func(s *said) { s.Holder, s.Doing = "", "" }, lock, grade{true, true, false, false, true}},
		{"words are missing", func(*said) {}, truth{causes: []string{"lock"}, words: "fdatasync"}, grade{false, true, true, true, true}},
		{"something where there is nothing", func(*said) {}, truth{}, grade{}},
		{"nothing where there is nothing", func(s *said) { *s = said{Sentence: "no cause to name"} }, truth{}, all},
		{"nothing where there is something", func(s *said) { *s = said{} }, lock, grade{}},
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			s := right
			c.said(&s)
			if got := judge(s, c.t); got != c.want {
				t.Errorf("%+v is judged %+v, want %+v", s, got, c.want)
			}
		})
	}
}

func TestFunction(t *testing.T) {
	for place, want := range map[string]string{
		"main.(*a).b (c.go:1)":                                    "main.(*a).b",
		"main.main.func2 (main.go:9)":                             "main.main",
		"main.(*a).b.func1.2 (c.go:1)":                            "main.(*a).b",
		"grpc.(*Server).serve (s.go:1 in google.golang.org/grpc)": "grpc.(*Server).serve",
		"main.f2 (a.go:2)":                                        "main.f2",
		"":                                                        "",
	} {
		if got := function(place); got != want {
			t.Errorf("%q is function %q, want %q", place, got, want)
		}
	}
}

// TestFetch: the profile is asked for in whole seconds, more of them than the trace takes, and is ended with the trace: net/http/pprof
// makes half a minute of a fraction.
func TestFetch(t *testing.T) {
	asked, ended := make(chan string, 1), make(chan bool)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.FormValue("seconds")
		<-r.Context().Done()
		close(ended)
	})
	mux.HandleFunc("/debug/pprof/trace", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "the trace of ", r.FormValue("seconds")) })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	b, err := fetch(t.Context(), srv.Listener.Addr().String(), 2500*time.Millisecond)
	if string(b) != "the trace of 2.5" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if n, err := strconv.Atoi(<-asked); n < 3 || err != nil {
		t.Errorf("a profile of %d s is asked for: %v", n, err)
	}
	<-ended
}

// TestFetchWithoutProfile: a trace in which there are no samples, as the profile failed, is none of the suite's.
func TestFetchWithoutProfile(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "one is being taken", http.StatusInternalServerError)
	})
	mux.HandleFunc("/debug/pprof/trace", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	if _, err := fetch(t.Context(), srv.Listener.Addr().String(), time.Second); err == nil || !strings.Contains(err.Error(), "one is being taken") {
		t.Errorf("%v", err)
	}
}

// telling are words that would say in a binary what is planted there.
var telling = regexp.MustCompile(`(?i)plant|slow|stall|delay|contend|convoy|hog|lock|block|leak|wait|cause|suspend|freeze`)

// TestNamesDoNotTell: what ends up in a program's binary (files, functions, types, strings) does not say what it suffers from.
func TestNamesDoNotTell(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*/*.go", "internal/*/*.go", "../real/*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 5 {
		t.Fatalf("found the files %q; want those of all programs", files)
	}
	for _, file := range files {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		check := func(at token.Pos, text string) {
			if telling.MatchString(text) {
				t.Errorf("%s: %s tells", set.Position(at), text)
			}
		}
		check(f.Pos(), filepath.Base(file))
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.FuncDecl:
				check(n.Pos(), n.Name.Name)
			case *ast.TypeSpec:
				check(n.Pos(), n.Name.Name)
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					check(n.Pos(), n.Value)
				}
			}
			return true
		})
	}
}
