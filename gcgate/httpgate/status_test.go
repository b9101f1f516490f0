package httpgate

import (
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"evenkeel.dev/gcgate"
)

func TestStatus(t *testing.T) {
	g, _ := startGate(t, gcgate.Options{Policy: gcgate.PolicyThrough})
	g.Enter().Exit()
	page := serve(Status(g), get())
	text := body(page)
	var s struct {
		gcgate.Stats
		Process processStats
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil || s.Entered != 1 || s.Policy != gcgate.PolicyThrough ||
		!strings.Contains(text, `"Overlapped": 0`) || page.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v, %+v\n%s", err, s, text)
	}
	if p := s.Process; p.Procs != runtime.GOMAXPROCS(0) || p.Collector < 0 || p.PID != os.Getpid() || p.Uptime <= 0 ||
		runtime.GOOS == "linux" && p.CPU <= 0 {
		t.Errorf("the process is %+v", p)
	}
}

// TestStatusWithoutGate says so, and where to read why: Guarded.Gate returns nil where it could not
// start.
func TestStatusWithoutGate(t *testing.T) {
	g, _ := guard(t, gcgate.Options{Policy: gcgate.PolicyShed})
	page := serve(Status(g.Gate()), get())
	var answer struct{ Error string }
	if err := json.NewDecoder(page.Body).Decode(&answer); err != nil || page.StatusCode != http.StatusNotFound ||
		!strings.Contains(answer.Error, "no gate") {
		t.Errorf("status %d, %+v, %v", page.StatusCode, answer, err)
	}
}
