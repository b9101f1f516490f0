package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

type note struct {
	key  string
	text string // of the run with the largest figure
	size int64  // with which text begins; 0: none
	runs []*runfile.Run
}

func notes(columns []Column, machines int) []string {
	var list []string
	if machines > 1 {
		list = append(list, fmt.Sprintf("measured on %d different machines: ratios between them say little", machines))
	}
	var said []note
	for _, col := range columns {
		for _, r := range col.Runs {
			for _, n := range notesOf(r) {
				i := slices.IndexFunc(said, func(m note) bool { return m.key == n.key })
				if i < 0 {
					i = len(said)
					said = append(said, n)
				}
				said[i].runs = append(said[i].runs, r)
				if n.size > said[i].size {
					said[i].size, said[i].text = n.size, n.text
				}
			}
		}
	}
	for _, n := range said {
		text := n.text
		if n.size > 0 && len(n.runs) > 1 {
			text = "in a run up to " + text
		}
		list = append(list, who(columns, n.runs)+text)
	}
	base := &columns[0]
	for i := range columns[1:] {
		col := &columns[i+1]
		l, b := col.Runs[0].Load, base.Runs[0].Load
		if l.Rate != b.Rate || l.Rate == 0 && l.Connections != b.Connections {
			list = append(list, fmt.Sprintf("%s and %s had different loads: %s against %s", base.Label, col.Label,
				loadText(b), loadText(l)))
		}
	}
	return list
}

// who returns "GOGC=off: ", "a: repeats 1, 3; b: ", or "" for all of several columns.
func who(columns []Column, runs []*runfile.Run) string {
	var list []string
	all := len(columns) > 1
	for _, col := range columns {
		var repeats []string
		for _, r := range col.Runs {
			if slices.Contains(runs, r) {
				repeats = append(repeats, fmt.Sprint(r.Repeat))
			}
		}
		whole := len(repeats) == len(col.Runs)
		all = all && whole
		switch {
		case len(repeats) == 0:
		case whole:
			list = append(list, col.Label)
		case len(repeats) == 1:
			list = append(list, col.Label+": repeat "+repeats[0])
		default:
			list = append(list, col.Label+": repeats "+strings.Join(repeats, ", "))
		}
	}
	if all {
		return ""
	}
	return strings.Join(list, "; ") + ": "
}

func notesOf(r *runfile.Run) []note {
	var list []note
	add := func(key string, size int64, format string, a ...any) {
		list = append(list, note{key: key, size: size, text: fmt.Sprintf(format, a...)})
	}
	l := r.Load
	if l.Interrupted {
		cut := ""
		if n := l.Unfinished; n > 0 {
			cut = fmt.Sprintf("; %s requests were still unanswered then, after up to %s, and are in no figure",
				textfmt.Count(float64(n)), textfmt.Duration(l.UnfinishedMax))
		}
		add("interrupted", 0, "the load was interrupted%s", cut)
	}
	if l.Overload != nil {
		add("overload", 0, "%s", l.Overload.Text)
	}
	if r.Share != nil {
		add("share "+r.Share.String(), 0, "it is share %v of a load alone; evenkeel merge adds all of them", r.Share)
	}
	for _, f := range l.Failures {
		add("failed "+string(f.Class), f.Count, "%s failed (%s), for instance: %s", textfmt.Count(float64(f.Count)),
			f.Class, f.Example)
	}
	if l.Rate > 0 && l.Overload == nil && float64(l.Late) > .01*float64(l.Requests()) {
		add("late", l.Late, "%s of %s requests were sent more than 1 ms after they were due, %s; their latency "+
			"counts from then all the same",
			textfmt.Count(float64(l.Late)), textfmt.Count(float64(l.Requests())), lateBecause(l))
	}
	if l.Duration < time.Second && l.Answered > 0 {
		add("short", 0, "%s is too short to say much; raise -n or -z", textfmt.Duration(l.Duration))
	}
	if s, n := worstStatus(l); float64(n) > .5*float64(l.Answered) {
		add(fmt.Sprint("status ", s), n,
			"%s of %s answers had status %d: is the URL, the method or the scheme (http, https) right?",
			textfmt.Count(float64(n)), textfmt.Count(float64(l.Answered)), s)
	}
	for _, taken := range r.Disturbance.Taken() {
		add("taken by "+taken.By, int64(taken.Percent), "%v", taken)
	}
	for _, n := range r.Notes {
		add("note "+n, 0, "%s", n)
	}
	return list
}

func lateBecause(l *loadgen.Result) string {
	pacer := int64(0)
	for d, n := range l.Pacer.All() {
		if d > loadgen.LateAfter {
			pacer += n
		}
	}
	switch {
	case l.Pacer.Count() == 0:
		return "because the client or the service did not keep up"
	case 2*pacer >= l.Late:
		return "because the load generator itself was late"
	}
	return "because no connection was free: the service did not keep up"
}

func worstStatus(l *loadgen.Result) (status int, count int64) {
	for s, n := range l.Statuses {
		if (s < 200 || s >= 400) && (n > count || n == count && s < status) {
			status, count = s, n
		}
	}
	return status, count
}
