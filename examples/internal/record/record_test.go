package record

import (
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func parse(t *testing.T, args ...string) *Flags {
	t.Helper()
	var f Flags
	fs := flag.NewFlagSet("example", flag.ContinueOnError)
	f.Register(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &f
}

// TestAround tests that requests are recorded with -admin, and not without.
func TestAround(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	var log strings.Builder
	f := parse(t, "-admin", "127.0.0.1:0", "-recorder-cpu", "1")
	if err := f.Start(slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := f.Around(ok)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Body.String() != "ok" {
		t.Errorf("%q", w.Body)
	}
	url := regexp.MustCompile(`msg=recording url=(\S+)`).FindStringSubmatch(log.String())
	if url == nil {
		t.Fatal(log.String())
	}
	defer http.DefaultClient.CloseIdleConnections()
	res, err := http.Get(url[1] + "stats")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || !strings.Contains(string(text), `"requests":1,`) {
		t.Errorf("%s, %v", text, err)
	}

	none := parse(t)
	if err := none.Start(nil); err != nil || none.Around(nil) != nil {
		t.Errorf("without -admin: %v", err)
	}
	none.Close()
}

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{{"-slow", "1s"}, {"-recorder-cpu", "1"}, {"-recorder-dir", "x"}} {
		if err := parse(t, args...).Check(); err == nil || !strings.Contains(err.Error(), "-admin") {
			t.Errorf("%v: %v", args, err)
		}
	}
	for want, args := range map[string][]string{
		"with -admin": {"-admin", "nowhere"},
		"Options.CPU": {"-admin", "127.0.0.1:0", "-recorder-cpu", "2"},
	} {
		f := parse(t, args...)
		if err := f.Start(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
		f.Close()
	}
}
