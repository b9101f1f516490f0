package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// named is what a reader sees of a row or column, and what entries of a list are in it: conditions as tools/figures reads them.
type named struct{ name, query string }

// tables prints the guide's tables, each below the comment that traces it to a file of results.
func (m *measured) tables(out io.Writer, file string) {
	if len(m.Coverage) > 0 {
		var columns, rows []named
		for _, f := range tails() {
			columns = append(columns, named{f.Name, "share[%] & figure=" + f.Name})
		}
		for _, c := range m.Coverage {
			r := named{c.Service + map[bool]string{true: ", rounds", false: ", no rounds"}[c.Paired], fmt.Sprintf("service=%s & paired=%v", c.Service, c.Paired)}
			if !slices.Contains(rows, r) {
				rows = append(rows, r)
			}
		}
		grid(out, file, "raw/coverage", "intervals that hold the truth", columns, rows, func(r, c named) string {
			i := slices.IndexFunc(m.Coverage, func(x coverage) bool {
				return strings.HasSuffix(c.query, "="+x.Figure) && r.query == fmt.Sprintf("service=%s & paired=%v", x.Service, x.Paired)
			})
			return fmt.Sprintf("%.1f%%", m.Coverage[i].Share)
		})
	}
	if len(m.Sequential) > 0 {
		var rows []named
		for _, l := range m.Sequential {
			if !l.Planted {
				rows = append(rows, named{l.Service, "service=" + l.Service})
			}
		}
		columns := []named{{"differs from itself", "share[%] & planted=false"}, {"the change found", "share[%] & planted=true"}, {"after so many rounds", "rounds & planted=true"}}
		grid(out, file, "raw/sequential", "looks after each of 30 rounds", columns, rows, func(r, c named) string {
			i := slices.IndexFunc(m.Sequential, func(x looks) bool {
				return r.name == x.Service && strings.HasSuffix(c.query, fmt.Sprint(x.Planted))
			})
			if strings.HasPrefix(c.query, "rounds") {
				return fmt.Sprintf("%.1f", m.Sequential[i].Rounds)
			}
			return fmt.Sprintf("%.1f%%", m.Sequential[i].Share)
		})
	}
	if len(m.Worst) > 0 {
		m.alarmTable(out, file)
	}
	if len(m.Power) > 0 {
		var rows []named
		for _, p := range m.Power {
			rows = append(rows, named{fmt.Sprintf("%s, +%.0f%%, %d rounds", p.Subject, 100*(p.Slower-1), p.Rounds), "subject=" + p.Subject})
		}
		columns := []named{{"found", "share[%]"}}
		grid(out, file, "raw/power", "p99 made longer", columns, rows, func(r, _ named) string {
			i := slices.IndexFunc(m.Power, func(p powered) bool { return r.query == "subject="+p.Subject })
			return fmt.Sprintf("%.0f%%", m.Power[i].Share)
		})
	}
	if p := m.Planted; p != nil {
		fmt.Fprintf(out, "\n<!-- figures %s\ntext %.2[2]fx: raw/planted/ratio -->\nmsgpush with a longer window: p99 %.2[2]fx by all %[3]d rounds, found in %[4]d of %[5]d draws of %[6]d.\n", file, p.Ratio, p.Rounds, p.Found, p.Trials, rounds)
	}
}

// alarmTable has the worst figure of each method with each service.
func (m *measured) alarmTable(out io.Writer, file string) {
	var columns, rows []named
	for _, a := range m.Worst {
		c := named{a.Subject + cmp.Or(beside(a.Neighbour), ", quiet"), fmt.Sprintf("share[%%] & subject=%s & neighbour=%v", a.Subject, a.Neighbour)}
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
		r := named{a.Method, "method=" + a.Method}
		if !slices.Contains(rows, r) {
			rows = append(rows, r)
		}
	}
	grid(out, file, "raw/worst", "a service differs from itself", columns, rows, func(r, c named) string {
		i := slices.IndexFunc(m.Worst, func(a alarm) bool {
			return r.name == a.Method && strings.HasSuffix(c.query, fmt.Sprintf("subject=%s & neighbour=%v", a.Subject, a.Neighbour))
		})
		return fmt.Sprintf("%.1f%% (%s)", m.Worst[i].Share, m.Worst[i].Figure)
	})
}

// grid prints a table and the comment above it: a cell is of that entry of the list for which its row's and its column's
// conditions hold.
func grid(out io.Writer, file, list, head string, columns, rows []named, cell func(row, column named) string) {
	of := func(all []named, what func(named) string, between string) string {
		var parts []string
		for _, n := range all {
			parts = append(parts, what(n))
		}
		return strings.Join(parts, between)
	}
	name, query := func(n named) string { return n.name }, func(n named) string { return n.query }
	fmt.Fprintf(out, "\n<!-- figures %s\ncolumns %s: %s\nrows %s -->\n", file, list, of(columns, query, "; "), of(rows, query, "; "))
	fmt.Fprintf(out, "| %s | %s |\n|%s\n", head, of(columns, name, " | "), strings.Repeat("---|", len(columns)+1))
	for _, r := range rows {
		fmt.Fprintf(out, "| %s | %s |\n", r.name, of(columns, func(c named) string { return cell(r, c) }, " | "))
	}
}
