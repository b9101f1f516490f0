package page

import (
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// viewerPort is the port at which the page expects go tool trace, until somebody writes another
// into its field.
const viewerPort = 8765

// viewer is how go tool trace is started, so that the page's links lead into it. Its pages take
// what to show from their address: /trace?goid=7 is goroutine 7 and those that it dealt with,
// /trace?view=proc all processors, and #FROM:TO, in milliseconds of the trace, marks a time in
// either.
type viewer struct {
	Port        int
	Before, End string // of the command, around the port
}

// newViewer returns nil where there is no file that go tool trace could read.
func newViewer(file string) *viewer {
	if file == "" {
		return nil
	}
	v := &viewer{Port: viewerPort, Before: "go tool trace -http=localhost:", End: " " + quoted(file)}
	if plain, ok := strings.CutSuffix(file, ".gz"); ok { // it reads none that gzip has compressed
		v.Before = "gzip -dk " + quoted(file) + " && " + v.Before
		v.End = " " + quoted(plain)
	}
	return v
}

// quoted returns a file's name as a shell takes it.
func quoted(file string) string {
	file = textfmt.Printable(file)
	if strings.HasPrefix(file, "-") {
		file = "./" + file
	}
	if strings.IndexFunc(file, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./+,:@%", r))
	}) < 0 {
		return file
	}
	return "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
}

// lead is a link into go tool trace.
type lead struct{ URL, Text string }

// leads returns the links of a request; none where there is no file.
func (v *viewer) leads(q *reqtrace.Request) []lead {
	if v == nil {
		return nil
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%d.%06d", d/time.Millisecond, d%time.Millisecond) }
	at, when := fmt.Sprintf("http://localhost:%d/trace?", v.Port), "#"+ms(q.Start)+":"+ms(q.End)
	return []lead{
		{at + fmt.Sprintf("goid=%d", q.Goroutine) + when, fmt.Sprintf("goroutine %d", q.Goroutine)},
		{at + "view=proc" + when, "all processors"},
	}
}
