package traces

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/reqtrace"
)

func TestTraceSourceURL(t *testing.T) {
	for _, tt := range []struct {
		in, url string
		seconds float64
		err     string
	}{
		{"http://h:1/debug/pprof/trace", "http://h:1/debug/pprof/trace?seconds=5", 5, ""},
		{"http://h:1", "http://h:1/debug/pprof/trace?seconds=5", 5, ""},
		{"http://h:1/?seconds=2", "http://h:1/debug/pprof/trace?seconds=2", 2, ""},
		{"http://h:1/debug/pprof", "http://h:1/debug/pprof/trace?seconds=5", 5, ""},
		{"http://h/t?seconds=0.5", "http://h/t?seconds=0.5", .5, ""},
		{"https://h/t?x=1", "https://h/t?seconds=5&x=1", 5, ""},
		{"http://h/t?seconds=", "http://h/t?seconds=5", 5, ""},
		{"http://h:1/debug/evenkeel/", "http://h:1/debug/evenkeel/snapshot", 0, ""}, // a recorder has what there is
		{"http://h:1/debug/evenkeel", "http://h:1/debug/evenkeel/snapshot", 0, ""},
		{"http://h/why/snapshot", "http://h/why/snapshot", 0, ""},
		{"http://h/why/snapshot/20261122-0300-slow", "http://h/why/snapshot/20261122-0300-slow", 0, ""},
		{"http://h/t?seconds=-1", "", 0, "more than 0"},
		{"http://h/t?seconds=NaN", "", 0, "more than 0"},
		{"http://h/t?seconds=3601", "", 0, "at most 3600"},
		{"http://h/t?%zz", "", 0, "write it as"},
		{"http:///t", "", 0, "write it as"},
	} {
		s, err := newEndpoint(tt.in, nil)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", tt.in, err, tt.err)
			}
		case err != nil || s.url != tt.url || s.seconds != tt.seconds:
			t.Errorf("%s: %+v, %v", tt.in, s, err)
		}
	}
}

func TestTraceSourceFails(t *testing.T) {
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
		err   []string
	}{
		{"not found", http.NotFound, []string{"404 Not Found (404 page not found)", "import net/http/pprof", "-pprof"}},
		{"busy", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Could not enable tracing:\x1b[2J tracing already enabled\nmore",
				http.StatusInternalServerError)
		}, []string{"(Could not enable tracing:[2J tracing already enabled)", "one trace at a time"}},
		{"write timeout", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "profile duration exceeds server's WriteTimeout", http.StatusBadRequest)
		}, []string{"exceeds server's WriteTimeout", "fewer seconds"}},
		{"forbidden", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
		}, []string{"403 Forbidden: fetch it with curl"}},
		{"moved oddly", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}, []string{"204 No Content: it must answer 200"}},
		{"silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, []string{"no byte came for"}},
		{"silent in the middle", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "go 1.26 trace\x00\x00\x00")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, []string{"no byte came for"}},
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(5 * time.Millisecond)
			}
		}, []string{"it goes on after", "fewer seconds"}},
		{"too long", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 2<<20))
		}, []string{"over 1 MiB"}},
		{"breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "go 1.26 trace")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, []string{"broke off after", "did the server end?"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(tt.serve)
			defer srv.Close()
			s, err := newEndpoint(srv.URL+"/debug/pprof/trace?seconds=0.05", nil)
			if err != nil {
				t.Fatal(err)
			}
			s.patience, s.longest, s.most = time.Hour, time.Hour, 1<<20
			switch {
			case strings.HasPrefix(tt.name, "silent"):
				s.patience = 50 * time.Millisecond
			case tt.name == "endless":
				s.longest = 50 * time.Millisecond
			}
			_, err = s.fetch(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.err {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
		})
	}
	s, err := newEndpoint("http://127.0.0.1:1/debug/pprof/trace", nil) // a port that nobody is given
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.fetch(t.Context()); err == nil || !strings.Contains(err.Error(), "is the server running") {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestTraceSourceInterrupted has Ctrl-C come while a trace is taken.
func TestTraceSourceInterrupted(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer srv.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	a := &cli.App{Stdout: io.Discard, Stderr: io.Discard}
	if _, _, err := Verdict(ctx, a, srv.URL+"/debug/pprof/trace", reqtrace.Options{}); !errors.Is(err,
		cli.ErrInterrupted) {
		t.Errorf("%v, want %v", err, cli.ErrInterrupted)
	}
}

// TestSpool: what is fetched is read as it came, and its file is gone afterwards.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, size := range []int{0, 7, 1_000_000} {
		in := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		s, n, err := newSpool(bytes.NewReader(in))
		if n != int64(size) || err != nil {
			t.Fatal(n, err)
		}
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, in) {
			t.Errorf("%d bytes of %d, %v", len(got), size, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
	broken := errors.New("broken")
	s, _, err := newSpool(iotest.ErrReader(broken))
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	s.Close()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("after an error %v is left, %v", left, err)
	}
}

// TestSpoolIsSavedWhole: where it cannot be, what was there before stays.
func TestSpoolIsSavedWhole(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	name := filepath.Join(dir, "a-1.trace")
	if err := os.WriteFile(name, []byte("of before"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder, err := os.Open(dir) // it cannot be read
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if err := (&spool{folder}).save(name); err == nil {
		t.Error("what cannot be read was saved")
	}
	if got, err := os.ReadFile(name); string(got) != "of before" {
		t.Errorf("%q, %v", got, err)
	}
	s, _, err := newSpool(strings.NewReader("a trace"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 { // it is back at its start
		if err := s.save(name); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(name); string(got) != "a trace" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestWatchMachine(t *testing.T) {
	if b := watchMachine(t.Context())(); b.Steal < 0 || b.Steal > 1 {
		t.Errorf("%+v", b)
	}
}
