package page

import (
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// viewerPort is the default of the field for go tool trace's port.
const viewerPort = 8765

// viewer is the command for go tool trace, so that links lead into it. /trace?goid=7 shows
// goroutine 7, /trace?view=proc all processors, and #FROM:TO marks a time in milliseconds.
type viewer struct {
	Port        int
	Before, End string // of the command, around the port
}

// newViewer returns nil if no file was kept.
func newViewer(file string) *viewer {
	if file == "" {
		return nil
	}
	v := &viewer{Port: viewerPort, Before: "go tool trace -http=localhost:", End: " " + quoted(file)}
	if plain, ok := strings.CutSuffix(file, ".gz"); ok { // it does not read gzip
		v.Before = "gzip -dk " + quoted(file) + " && " + v.Before
		v.End = " " + quoted(plain)
	}
	return v
}

// quoted quotes a file's name for a shell.
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
