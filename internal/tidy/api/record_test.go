package api_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/tidy/api"
)

// source is a small module: one public package, one internal one, a command.
var source = map[string]string{
	"go.mod":         "module evenkeel.dev\n\ngo 1.26\n",
	"cmd/c/main.go":  "package main\n\nfunc main() {}\n",
	"internal/in.go": "package internal\n\ntype T struct{ Field int }\n\nfunc (T) Method() {}\n\ntype E struct{}\n",
	"a/a_linux.go":   "package a\n\nfunc OnLinux() {}\n",
	"a/a.go": `package a

import (
	"context"
	"errors"
	"time"

	"evenkeel.dev/internal"
)

type Options struct {
	Wait   time.Duration
	hidden int
}

type Kind int

const (
	KindOne Kind = iota
	Name         = "a"
)

func (k Kind) String() string            { return "" }
func (k *Kind) UnmarshalText(text []byte) error { return nil }

var ErrClosed = errors.New("closed")

type Watcher struct {
	*base
	in internal.T
}

type base struct{ Promoted string }

func (*base) Close(why error) error { return nil }

func New(ctx context.Context, o Options, more ...func(n int) bool) (w *Watcher, err error) {
	return nil, nil
}

func Generic[K comparable, V any](m map[K]V) (keys []K) { return nil }

type Pair[T any] struct{ A, B T }

func (p *Pair[T]) Swap() {}

type Signal interface {
	Drain(ctx context.Context) error
	closed()
}

type Number interface{ ~int | ~float64 }

type Func func(n int) <-chan struct{ X int }

type Same = Kind

// What follows shows internal types.
type (
	Alias   = internal.T
	Defined internal.T
	Embeds  struct{ internal.T }
	Holds   struct{ Map map[string][]*internal.T }
	Asks    interface{ Take(func(internal.T)) }
)

type result struct{ In internal.E }

func Leaks() *result { return nil }

var Var chan<- internal.E
`,
}

const wantRecord = `const KindOne = 0
const KindOne Kind
const Name = "a"
const Name untyped string
func Generic[K comparable, V any](map[K]V) []K
func Leaks() *result
func New(context.Context, Options, ...func(int) bool) (*Watcher, error)
method (*Kind) UnmarshalText([]byte) error
method (*Pair[T]) Swap()
method (Embeds) Method()
method (Kind) String() string
method (Watcher) Close(error) error
type Alias = internal.T
type Asks interface { Take }
type Asks interface, Take(func(internal.T))
type Defined struct
type Defined struct, Field int
type Embeds struct
type Embeds struct, Field int
type Embeds struct, embedded internal.T
type Func func(int) <-chan struct{X int}
type Holds struct
type Holds struct, Map map[string][]*internal.T
type Kind int
type Number interface {~int | ~float64}
type Options struct
type Options struct, Wait time.Duration
type Pair[T any] struct
type Pair[T any] struct, A T
type Pair[T any] struct, B T
type Same = Kind
type Signal interface { Drain, unexported methods }
type Signal interface, Drain(context.Context) error
type Watcher struct
type Watcher struct, Promoted string
var ErrClosed error
var Var chan<- internal.E`

var wantInternal = []string{
	"func Leaks() *result: shows evenkeel.dev/internal.E",
	"type Alias = internal.T: shows evenkeel.dev/internal.T",
	"type Asks interface, Take(func(internal.T)): shows evenkeel.dev/internal.T",
	"type Defined struct: shows evenkeel.dev/internal.T",
	"type Embeds struct, embedded internal.T: shows evenkeel.dev/internal.T",
	"type Holds struct, Map map[string][]*internal.T: shows evenkeel.dev/internal.T",
	"var Var chan<- internal.E: shows evenkeel.dev/internal.E",
}

// module writes a module and loads its packages as Linux and Windows have them.
func module(t *testing.T, files map[string]string) map[api.System][]*api.Package {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	loaded := map[api.System][]*api.Package{}
	for _, sys := range []api.System{{OS: "linux", Arch: "amd64"}, {OS: "windows", Arch: "amd64"}} {
		pkgs, err := api.Load([]string{dir}, sys)
		if err != nil {
			t.Fatal(err)
		}
		loaded[sys] = pkgs
	}
	return loaded
}

func TestRecord(t *testing.T) {
	loaded := module(t, source)
	want := []string{"pkg evenkeel.dev/a (linux-amd64), func OnLinux()"}
	for line := range strings.SplitSeq(wantRecord, "\n") {
		want = append(want, "pkg evenkeel.dev/a, "+line)
	}
	slices.Sort(want)
	if d := cmp.Diff(map[string][]string{"evenkeel.dev/a": want}, api.Record(loaded)); d != "" {
		t.Errorf("record (-want +got):\n%s", d)
	}
	for sys, pkgs := range loaded {
		want := slices.Clone(wantInternal)
		for i := range want {
			want[i] = "pkg evenkeel.dev/a, " + want[i]
		}
		if d := cmp.Diff(want, api.Internal(pkgs[0])); d != "" {
			t.Errorf("internal types of %v (-want +got):\n%s", sys, d)
		}
	}
}

func TestOptionErrors(t *testing.T) {
	const (
		options = "package a\n\ntype Options struct{}\n\n"
		method  = "\n\nfunc (e *OptionError) Error() string { return \"\" }\n"
	)
	for _, tt := range []struct{ name, text, want string }{
		{"no options", "package a\n", ""},
		{"none", options, "has an Options but no OptionError"},
		{"as it should be", options + "type OptionError struct{ Option, Reason string }" + method, ""},
		{"other names", options + "type OptionError struct{ Field, Fix string }" + method, "other fields"},
		{"more", options + "type OptionError struct{ Option, Reason, Fix string }" + method, "other fields"},
		{"no error", options + "type OptionError struct{ Option, Reason string }\n", "no error by pointer alone"},
		{"by value", options + "type OptionError struct{ Option, Reason string }" + strings.Replace(method, "*", "", 1), "no error by pointer alone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pkgs := module(t, map[string]string{"go.mod": source["go.mod"], "a/a.go": tt.text})[api.System{OS: "linux", Arch: "amd64"}]
			if got := api.OptionErrors(pkgs[0]); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q in it", got, tt.want)
			}
		})
	}
}
