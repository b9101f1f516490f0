package reqtrace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/internal/golden"
)

// planted is where the program in testdata/gen waits for the lock that others hold.
const planted = "main.(*cache).get (main.go:33)"

// recorded calls f for each trace that a Go release has written (testdata/gen.sh).
func recorded(t *testing.T, f func(t *testing.T, name string, trace []byte)) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.trace.gz")
	if err != nil || len(names) < 6 {
		t.Fatalf("%q, %v: reqtrace/testdata/gen.sh writes them", names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".trace.gz"), func(t *testing.T) {
			t.Parallel()
			packed, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer packed.Close()
			z, err := gzip.NewReader(packed)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			f(t, strings.TrimSuffix(name, ".trace.gz"), b)
		})
	}
}

// TestRecordedTraces reads the traces of real programs of all Go releases that write such traces: the planted
// lock is found, and the figures are those of the .json files. -update writes those anew.
func TestRecordedTraces(t *testing.T) {
	t.Parallel()
	recorded(t, func(t *testing.T, name string, b []byte) {
		r, err := Analyze(t.Context(), bytes.NewReader(b), Options{Slowest: 3})
		if err != nil {
			t.Fatal(err)
		}
		const requests = 300 // of gen; each connection's last answer is written when the trace ends
		if n := r.Requests + r.CutEnd; n < requests-2 || n > requests || r.CutEnd > 2 || r.CutStart != 0 ||
			r.Procs != 2 || r.Broken != "" {
			t.Errorf("%d whole requests, %d and %d cut, %d Ps, broken: %q", r.Requests, r.CutStart, r.CutEnd, r.Procs,
				r.Broken)
		}
		if s := r.Tail.Share(CauseLock); s < .5 || r.Tail.Sites[0].Cause != CauseLock ||
			r.Tail.Sites[0].Site != planted {
			t.Errorf("the lock has %f of the excess; most is %+v", s, r.Tail.Sites[0])
		}
		if u := r.Total.Of(CauseUnknown); u > r.Total.Total()/100 {
			t.Errorf("unknown: %v of %v", u, r.Total.Total())
		}
		r.CCDF, r.Spans, r.Blocks = nil, nil, nil
		for i := range r.Slowest {
			check(t, r.Slowest[i])
			r.Slowest[i].Path = nil
		}
		golden.JSON(t, filepath.Base(name)+".json", r)
	})
}

// TestCutOff: of a trace that is cut off or corrupt, its complete generations are read; Read hands out
// their requests before it fails, and Analyze reports on them.
func TestCutOff(t *testing.T) {
	t.Parallel()
	recorded(t, func(t *testing.T, _ string, b []byte) {
		all, err := Analyze(t.Context(), bytes.NewReader(b), Options{})
		if err != nil {
			t.Fatal(err)
		}
		cut := b[:len(b)*3/4]
		corrupt := append(bytes.Clone(cut), bytes.Repeat([]byte{0xff}, len(b)-len(cut))...)
		for name, b := range map[string][]byte{"cut off": cut, "corrupt": corrupt} {
			r, err := Analyze(t.Context(), bytes.NewReader(b), Options{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if r.Requests < 10 || r.Requests >= all.Requests ||
				r.Trace >= all.Trace || !strings.Contains(r.Broken, "within the first") ||
				strings.Contains(r.Broken, "\n") {
				t.Errorf("%s: %d requests of %d in %v of %v, broken: %q", name, r.Requests, all.Requests, r.Trace,
					all.Trace, r.Broken)
			}
			if site := r.Tail.Sites[0]; site.Cause != CauseLock || site.Site != planted {
				t.Errorf("%s: most of p99+ is %+v", name, site)
			}
			whole, failed := 0, error(nil)
			for q, err := range Read(t.Context(), bytes.NewReader(b), Options{}) {
				switch {
				case failed != nil:
					t.Errorf("%s: something after %v", name, failed)
				case err != nil:
					failed = err
				case q.Cut == CutNone:
					whole++
				}
			}
			if whole != r.Requests || !errors.Is(failed, ErrBroken) || !strings.Contains(failed.Error(), r.Broken) {
				t.Errorf("%s: %d requests of %d, then %v", name, whole, r.Requests, failed)
			}
		}
	})
}
