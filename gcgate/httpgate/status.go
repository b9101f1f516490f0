package httpgate

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/cputime"
)

// Status returns a page about g for people and, in JSON, for programs: [gcgate.Stats] and
// figures of the process. JSON takes the query "json", or application/json and no HTML in
// Accept. Mount it for operators only:
//
//	mux.Handle("GET /debug/gate", httpgate.Status(g))
//
// If g is nil the page says so, with status 404. In JSON it is an object with Error.
func Status(g *gcgate.Gate) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		accept := r.Header.Get("Accept")
		if r.URL.RawQuery == "json" || strings.Contains(accept, "application/json") &&
			!strings.Contains(accept, "text/html") {
			h.Set("Content-Type", "application/json")
			if g == nil {
				w.WriteHeader(http.StatusNotFound)
				_ = json.NewEncoder(w).Encode(struct{ Error string }{noGate})
				return
			}
			_ = json.NewEncoder(w).Encode(struct {
				gcgate.Stats
				Process processStats
			}{g.Stats(), process()})
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		if g == nil {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(pageHead + "<h1>no gate</h1>\n<p>" + html.EscapeString(noGate) + ".</p>\n"))
			return
		}
		_, _ = w.Write([]byte(renderPage(g.Stats(), process(), time.Now())))
	})
}

const noGate = `there is no gate here, so requests overlap collections: where one could not start, ` +
	`the log of the start says why, at level ERROR ("httpgate: no gate"), and Guarded.Err returns it`

const pageHead = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="2">
<title>gate</title>
<style>
body { font: 16px/1.4 system-ui, sans-serif; margin: 1rem auto; max-width: 46rem; padding: 0 1rem;
  color: #222; background: #fff }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { text-align: left; padding: .15rem 1rem .15rem 0; vertical-align: top }
th { font-weight: normal; color: #666; white-space: nowrap }
td { font-variant-numeric: tabular-nums }
a { color: #05c }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #111 } th { color: #999 } a { color: #8bf } }
</style>
`

type page struct{ strings.Builder }

func renderPage(s gcgate.Stats, p processStats, now time.Time) string {
	b := &page{}
	b.WriteString(pageHead)
	fmt.Fprintf(b, "<h1>%v</h1>\n", s.State)
	if s.Advice != "" {
		fmt.Fprintf(b, "<p>%s.</p>\n", html.EscapeString(s.Advice))
	}
	b.WriteString("<table>\n")
	b.row("process", "%d on %s, for %s", p.PID, p.Host, age(p.Uptime))
	b.gate(s, now)
	if p.CPU > 0 {
		b.row("CPU time", "%v", p.CPU.Round(10*time.Millisecond))
	}
	if p.Busy > 0 {
		b.row("collector", "%.1f%% of what Go's processors have run", 100*p.Collector.Seconds()/p.Busy.Seconds())
	}
	b.turn(s.Turn)
	b.WriteString("</table>\n")
	b.phases(s)
	b.WriteString("<p><a href=\"?json\">JSON</a></p>\n")
	return b.String()
}

func (b *page) row(name, format string, args ...any) {
	fmt.Fprintf(b, "<tr><th>%s<td>%s\n", html.EscapeString(name), html.EscapeString(fmt.Sprintf(format, args...)))
}

func (b *page) gate(s gcgate.Stats, now time.Time) {
	b.row("policy", "%v", s.Policy)
	b.row("heap", "%s of %s, where a collection is due; %s live, hard threshold %s", size(s.Heap), size(s.Trigger),
		size(s.Live), size(s.Hard))
	if s.Limit < math.MaxInt64 {
		b.row("memory limit", "%s", size(s.Limit))
	}
	if left := s.Next.Sub(now); !s.Next.IsZero() && left > 0 {
		b.row("next collection", "in %v, for at most %v", left.Round(10*time.Millisecond),
			s.Expected.Round(time.Millisecond))
	}
	oldest := ""
	if s.Oldest > 0 {
		oldest = fmt.Sprintf(", one of them for %s or more", age(s.Oldest))
	}
	b.row("requests", "%d, of which %d in flight%s", s.Entered, s.InFlight, oldest)
	b.row("overlapped a collection", "%d (%s) of the gate's", s.Overlapped, share(s.Overlapped, s.Entered))
	b.row("overlapped another", "about %d (%s) of the runtime's own", s.OverlappedOther,
		share(s.OverlappedOther, s.Entered))
	b.row("refused", "%d", s.Refused)
	b.row("drains ignored", "%d", s.IgnoredDrains)
	var reasons []string
	for r := gcgate.ReasonHard; r <= gcgate.ReasonRequested; r++ {
		if n := s.Collections[r]; n > 0 {
			reasons = append(reasons, fmt.Sprintf("%d %v", n, r))
		}
	}
	if len(reasons) == 0 {
		reasons = []string{"none"}
	}
	b.row("collections", "%s; %d by the runtime although the gate was in charge",
		strings.Join(reasons, ", "), s.Escaped)
	b.row("without a turn", "%d of them; turns lost: %d", s.WithoutTurn, s.LostTurns)
}

func (b *page) turn(t gcgate.TurnStats) {
	if t.Turns == 0 {
		return
	}
	held := fmt.Sprintf("held %d times", t.Held.Count)
	if t.Held.Count > 0 {
		held += fmt.Sprintf(", for %v in the mean", mean(t.Held))
	}
	if t.Holding > 0 {
		held = "held now; " + held
	}
	b.row("turn", "%s", held)
	switch heldUp := t.HeldUpFor.Round(time.Second); {
	case t.HeldUpBy == "":
	case t.Holding > 0:
		b.row("held up", "for %v this replica has held the turn, and no other can collect, "+
			"because a peer does not have it back: %s", heldUp, t.HeldUpBy)
	default:
		b.row("held up", "for %v this replica has waited for the turn: %s", heldUp, t.HeldUpBy)
	}
	if t.Load > 0 {
		b.row("load of the turns", "%.3g with %d for %d replicas; a wait of up to %v, of %v to the hard threshold",
			t.Load, t.Turns, t.Replicas, t.LongestWait.Round(time.Millisecond), t.Spare.Round(time.Millisecond))
	}
}

func (b *page) phases(s gcgate.Stats) {
	head := "<table>\n<tr><th>state<th>times<th>mean<th>longest\n"
	for state := gcgate.StateWanting; state <= gcgate.StateReadying; state++ {
		if d := s.Phases[state]; d.Count > 0 {
			fmt.Fprintf(b, "%s<tr><td>%v<td>%d<td>%v<td>%v\n", head, state, d.Count,
				mean(d), d.Max.Round(10*time.Microsecond))
			head = ""
		}
	}
	if head == "" {
		b.WriteString("</table>\n")
	}
}

func mean(d gcgate.Duration) time.Duration {
	return (d.Total / time.Duration(d.Count)).Round(10 * time.Microsecond)
}

func age(d time.Duration) string {
	if d >= time.Hour {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}

func size(bytes uint64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

func share(part, of uint64) string {
	return fmt.Sprintf("%.3g%%", 100*float64(part)/float64(max(of, 1)))
}

type processStats struct {
	// CPU includes the kernel's part, 0 if not known. Collector is the collector's share in Cycles
	// that have ended, with the marking of idle processors.
	CPU       time.Duration
	Collector time.Duration
	Cycles    uint64

	Procs int // GOMAXPROCS

	// Busy is for how long Go's processors have run something, by the clock of Collector.
	Busy time.Duration

	Host   string
	PID    int
	Uptime time.Duration // since the program's start
}

func process() processStats {
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
	}
	metrics.Read(samples)
	seconds := func(i int) float64 { return samples[i].Value.Float64() }
	host, _ := os.Hostname()
	return processStats{
		CPU:       cputime.Process(),
		Collector: time.Duration(seconds(0) * float64(time.Second)),
		Busy:      time.Duration((seconds(2) - seconds(3)) * float64(time.Second)),
		Cycles:    samples[1].Value.Uint64(),
		Procs:     runtime.GOMAXPROCS(0),
		Host:      host,
		PID:       os.Getpid(),
		Uptime:    time.Since(firstMoment),
	}
}
