package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/reqtrace"
)

// TestRunTraced: one variant is traced in the last round, several are in the last three.
func TestRunTraced(t *testing.T) {
	t.Parallel()
	r := &Runner{flags: &flags{explain: true, repeat: 5}, variants: make([]variant, 1)}
	rounds := func() (list []int) {
		for i := 1; i <= r.flags.repeat; i++ {
			if r.traced(i) {
				list = append(list, i)
			}
		}
		return list
	}
	if got := rounds(); len(got) != 1 || got[0] != 5 {
		t.Errorf("one variant: %v", got)
	}
	r.variants = make([]variant, 2)
	if got := rounds(); len(got) != 3 || got[0] != 3 {
		t.Errorf("two: %v", got)
	}
	for given, want := range map[bool]int{false: explainRounds, true: 5} {
		r.flags.repeat, r.flags.variants = 5, cli.List{"a:", "b:"}
		if err := r.checkExplain(given); err != nil || r.flags.repeat != want {
			t.Errorf("-repeat given: %v: %d rounds, want %d; %v", given, r.flags.repeat, want, err)
		}
	}
}

func TestRunTraceFile(t *testing.T) {
	t.Parallel()
	r := &Runner{flags: &flags{}}
	if got := r.traceFile("a", 1); got != "" {
		t.Errorf("%q", got)
	}
	r.flags.traces = "dir"
	if got, want := r.traceFile("../no gc", 2), filepath.Join("dir", "_no_gc-2.trace"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRunTraceFilesDiffer: of variants that would keep their traces in one file only the last one's
// would be left.
func TestRunTraceFilesDiffer(t *testing.T) {
	t.Parallel()
	variants := cli.List{"a b:", "a/b:", "c:"}
	r := &Runner{flags: &flags{urls: cli.List{"http://127.0.0.1:1/"}, variants: variants}}
	if err := r.prepare(); err != nil {
		t.Errorf("no traces are kept: %v", err)
	}
	r = &Runner{flags: &flags{urls: cli.List{"http://127.0.0.1:1/"}, variants: variants, traces: "dir"}}
	if err := r.prepare(); err == nil || !strings.Contains(err.Error(), `of "a b" and "a/b"`) ||
		!strings.Contains(err.Error(), filepath.Join("dir", "a_b-1.trace")) {
		t.Errorf("two of one name: %v", err)
	}
}

// TestRunChanges: each variant is compared with the base, by all of its traces, and its last
// verdict is printed.
func TestRunChanges(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../testdata/lock.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := &Runner{
		app: &cli.App{Stdout: &out}, flags: &flags{},
		variants: []variant{{label: "a"}, {label: "b"}, {label: "c"}, {label: "untraced"}},
	}
	r.flags.judging.Base = "b"
	for range 3 {
		for _, label := range []string{"a", "b", "c"} {
			v, err := traces.Analyze(t.Context(), "trace", bytes.NewReader(b), reqtrace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.explanations = append(r.explanations, explained{label, v})
		}
	}
	changes, err := r.changes()
	if err != nil || len(changes) != 2 || changes[0].Old.Name != "b" || changes[0].New.Name != "a" ||
		changes[1].New.Name != "c" || changes[1].New.Traces != 3 {
		t.Fatalf("%v %v", changes, err)
	}
	if err := r.printExplanations(changes); err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]int{
		"\nwhat differs: a against b\nNo difference to name. ": 1,
		"\nwhat differs: c against b\n":                        1,
		"\nwhy requests were slow: a\n":                        1,
		"\nwhy requests were slow":                             3,
	} {
		if n := strings.Count(out.String(), what); n != want {
			t.Errorf("%d of %q, want %d", n, what, want)
		}
	}
}
