package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// loadSource writes a module and loads its packages as Linux and Windows have them.
func loadSource(t *testing.T, files map[string]string) map[system][]*apiPackage {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := loadAll([]string{dir}, []system{{os: "linux", arch: "amd64"}, {os: "windows", arch: "amd64"}})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// same fails where the two, sorted, are not the same lines.
func same(t *testing.T, want, got []string) {
	t.Helper()
	if d := difference(want, got); d != nil {
		t.Errorf("(- want, + got):\n%s", strings.Join(d, "\n"))
	}
}

func TestRecord(t *testing.T) {
	loaded := loadSource(t, source)
	want := []string{"pkg evenkeel.dev/a (linux-amd64), func OnLinux()"}
	for line := range strings.SplitSeq(wantRecord, "\n") {
		want = append(want, "pkg evenkeel.dev/a, "+line)
	}
	slices.Sort(want)
	lines := record(loaded)
	same(t, want, lines)

	dir := t.TempDir()
	if err := writeRecord(dir, lines); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	if err != nil || string(written) != strings.Join(want, "\n")+"\n" {
		t.Errorf("the file has %v\n%s", err, written)
	}
	read, err := readRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	same(t, want, read)
	if d := difference([]string{"a", "c", "d"}, []string{"a", "b", "c"}); !slices.Equal(d, []string{"-d", "+b"}) {
		t.Errorf("difference: %q", d)
	}
}

func TestFaults(t *testing.T) {
	want := []string{"evenkeel.dev/a has an Options but no OptionError; write type OptionError struct { Option, Reason string }, whose *OptionError is an error"}
	for _, shown := range wantInternal {
		for _, sys := range []string{"linux", "windows"} {
			want = append(want, sys+"-amd64: pkg evenkeel.dev/a, "+shown+": users cannot name it; give it a public type, or keep it inside")
		}
	}
	slices.Sort(want)
	loaded := loadSource(t, source)
	same(t, want, faults(loaded, nil))
	same(t, want[1:], faults(loaded, []string{"evenkeel.dev/a"}))
}

func TestOptionErrors(t *testing.T) {
	const (
		options = "package a\n\ntype Options struct{}\n\n"
		method  = "\n\nfunc (e *OptionError) Error() string { return \"\" }\n"
	)
	tests := []struct{ pkg, text, want string }{
		{"without", "package a\n", ""},
		{"none", options, "has an Options but no OptionError"},
		{"right", options + "type OptionError struct{ Option, Reason string }" + method, ""},
		{"others", options + "type OptionError struct{ Field, Fix string }" + method, "other fields"},
		{"more", options + "type OptionError struct{ Option, Reason, Fix string }" + method, "other fields"},
		{"noerror", options + "type OptionError struct{ Option, Reason string }\n", "no error by pointer alone"},
		{"value", options + "type OptionError struct{ Option, Reason string }" + strings.Replace(method, "*", "", 1), "no error by pointer alone"},
	}
	files := map[string]string{"go.mod": source["go.mod"]}
	for _, tt := range tests {
		files[tt.pkg+"/a.go"] = tt.text
	}
	got := map[string]string{}
	loaded := loadSource(t, files)
	for _, p := range loaded[system{os: "linux", arch: "amd64"}] {
		got[p.Path()] = optionErrors(p)
	}
	for _, tt := range tests {
		if got := got["evenkeel.dev/"+tt.pkg]; tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q in it", tt.pkg, got, tt.want)
		}
	}
	const listed = "evenkeel.dev/right refuses what is wrong: take it off the list in tools/api"
	if found := faults(loaded, []string{"evenkeel.dev/right"}); !slices.Contains(found, listed) {
		t.Errorf("found %q, not %q", found, listed)
	}
}
