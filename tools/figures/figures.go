// Package figures is a test that holds the figures of README.md to raw results. Comments that readers do
// not see trace them:
//
//	<!-- figures bench/results/gate-2026-11-21-1535.json
//	columns raw/runs: p99_ns & load=high; peak_rss_bytes & load=high
//	rows mode=default: 5 rounds; mode=gated: 5 rounds; mode=floor: 1 round
//	text 64% busy: raw/rate high/machine_busy; 37 ms: raw/runs: p99_ns & load=high & mode=gated: 5 rounds
//	given 300 MB; 8 s -->
//
// columns and rows trace the table after the comment: a cell is the median, over the rounds, of a field
// of those entries of a list for which the row's and the column's conditions hold; the first column is
// names. text traces figures in sentences of the section, and given names those that are no results, or
// that follow from others. A figure may be rounded as it is printed. Times are in ns and sizes in bytes;
// a field in another unit says so: "measured[ms]". The number of rounds stands in the section, and where the
// rows differ in it, in the names of those that differ from the first. A row without one has an entry for each cell.
//
// An interval stands behind its figure, in the same unit: "1.21x [1.12..1.34]", "8.6 ms [7.5..20]". It is what the
// results say: of a path that ends in measured, the interval beside it; of a median over rounds, that of signed ranks
// which bench/figure judges by. Times and ratios of five rounds or more must have one.
//
// A table without columns and rows is traced as sentences are.
//
// A block of what a command prints is traced by "<!-- output: evenkeel compare FILE -->", which a
// test of cmd/evenkeel runs.
//
// Each file of results says which commit was measured. One of a work tree with changes, or of a
// commit that is not known, holds up nothing; nor does a figure that a newer run of the benchmark has. [Sources] lists the commits, which must be in the history.
package figures

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Check returns the figures of a page of the tree that no raw results hold up: "PAGE:LINE: what is wrong: what to do".
func Check(tree fs.FS, page string) ([]string, error) {
	text, err := fs.ReadFile(tree, page)
	if err != nil {
		return nil, err
	}
	c := &checker{tree: tree, page: page}
	var section []block
	for _, at := range blocks.FindAllIndex(text, -1) {
		b := block{1 + strings.Count(string(text[:at[0]]), "\n"), strings.TrimSuffix(string(text[at[0]:at[1]]), "\n")}
		if strings.HasPrefix(b.text, "#") {
			c.section(section)
			section = nil
		}
		section = append(section, b)
	}
	c.section(section)
	return c.found, nil
}

// Source is a file of results that a page cites.
type Source struct {
	Line           int // of the page
	File, Revision string
}

// cited matches a comment that names a file of results.
var cited = regexp.MustCompile(`(?m)^<!-- (?:figures|output: evenkeel) (?:.* )?(bench/results/\S+\.json)\b`)

// Sources returns the files of results that a page cites, each with the commit that was measured.
func Sources(tree fs.FS, page string) (list []Source, err error) {
	text, err := fs.ReadFile(tree, page)
	if err != nil {
		return nil, err
	}
	for _, at := range cited.FindAllSubmatchIndex(text, -1) {
		s := Source{Line: 1 + strings.Count(string(text[:at[0]]), "\n"), File: string(text[at[2]:at[3]])}
		results, err := readResults(tree, s.File)
		if err == nil {
			s.Revision, err = revision(results)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", page, s.Line, s.File, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// blocks matches the parts of a page: a comment, a fenced block, a table, an indented block, a line of prose.
var blocks = regexp.MustCompile("(?m)^<!--(?s:.*?)-->$|^```(?s:.*?)\n```$|^\\|.*(?:\n\\|.*)*|^    .*(?:\n    .*)*|^.*\\S.*$")

type block struct {
	line int // of the first, from 1
	text string
}

func (b block) is(start string) bool { return strings.HasPrefix(b.text, start) }

func (b block) prose() bool { return !b.is("<!--") && !b.is("```") && !b.is("|") && !b.is("    ") }

// hidden is what of a line is no text: code, and where links lead.
var hidden = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")

type checker struct {
	tree  fs.FS
	page  string
	found []string
}

func (c *checker) wrong(line int, do, what string, args ...any) {
	c.found = append(c.found, fmt.Sprintf("%s:%d: %s: %s", c.page, line, fmt.Sprintf(what, args...), do))
}

// section checks one section: the values that its comments trace, then that they trace every figure.
func (c *checker) section(parts []block) {
	var traced []string // the texts of its comments, and the words of its tables and output
	var claims []string // of traced, the texts of its comments
	said := ""          // to the reader
	for _, b := range parts {
		if b.prose() || b.is("|") {
			said += strings.Join(strings.Fields(b.text), " ") + " "
		}
		if b.is("```") || b.is("|") {
			traced = append(traced, strings.FieldsFunc(b.text, func(r rune) bool { return strings.ContainsRune(" \n|*()", r) })...)
		}
	}
	for i, b := range parts {
		if b.is("<!-- figures ") {
			after := block{}
			if i+1 < len(parts) {
				after = parts[i+1]
			}
			claims = append(claims, c.comment(b, after, said)...)
		}
		if b.is("<!-- output: ") {
			c.output(b)
		}
	}
	traced = append(traced, claims...)
	above := ""
	for _, b := range parts {
		switch {
		case b.is("|") && figure.MatchString(b.text) && strings.Contains(above, "\ntext ") && !strings.Contains(above, "\ncolumns "):
			c.sentence(b, claims)
		case b.is("|") && figure.MatchString(b.text) && !strings.Contains(above, "\ncolumns "):
			c.wrong(b.line, "put a comment <!-- figures FILE ... --> above it, as tools/figures says", "a table with figures has no raw results")
		case b.is("```\n") && figure.MatchString(b.text) && !strings.HasPrefix(above, "<!-- output: "):
			c.wrong(b.line, "put a comment <!-- output: evenkeel ... --> above it", "a block with figures does not say what prints it")
		case b.prose():
			c.sentence(b, traced)
		}
		above = b.text
	}
}

// sentence finds figures in a line that no comment of the section traces.
func (c *checker) sentence(b block, traced []string) {
	for _, m := range figure.FindAllStringSubmatch(hidden.ReplaceAllString(b.text, ""), -1) {
		if !slices.ContainsFunc(traced, func(s string) bool { return s == m[1] || strings.Contains(s, m[0]) }) {
			c.wrong(b.line, "trace it with a line 'text' or 'given' of a comment <!-- figures FILE ... --> in this section",
				"nothing says where %s is from", m[0])
		}
	}
}

// output checks the file of results that a command reads.
func (c *checker) output(b block) {
	m := cited.FindStringSubmatch(b.text)
	if m == nil {
		return // it reads none
	}
	results, err := readResults(c.tree, m[1])
	if err == nil {
		_, err = revision(results)
	}
	if err != nil {
		c.wrong(b.line, "name the newest file of bench/results of a clean commit", "%v", err)
	}
}

// comment checks what a comment traces, and returns the texts that it does.
func (c *checker) comment(b, after block, said string) (traced []string) {
	lines := strings.Split(strings.TrimSuffix(b.text, "-->"), "\n")
	results, err := readResults(c.tree, strings.Fields(lines[0])[2])
	if err != nil {
		c.wrong(b.line, "name a file of bench/results", "%v", err)
		return nil
	}
	if _, err := revision(results); err != nil {
		c.wrong(b.line, "name the newest file of a clean commit, or leave its figures out", "%v", err)
	}
	var t table
	for i, line := range lines[1:] {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "columns":
			list, columns, _ := strings.Cut(rest, ": ")
			t.list, t.columns = list, strings.Split(columns, "; ")
		case "rows":
			t.rows = strings.Split(rest, "; ")
		case "given":
			traced = append(traced, strings.Split(rest, "; ")...)
		case "text":
			for claim := range strings.SplitSeq(rest, "; ") {
				what, from, _ := strings.Cut(claim, ": ")
				traced = append(traced, what)
				c.claim(b.line+1+i, what, from, results, said)
			}
		case "":
		default:
			c.wrong(b.line+1+i, "write columns, rows, text or given", "%q begins no line of such a comment", word)
		}
	}
	if t.columns != nil {
		c.table(b.line, t, after, results, said)
	}
	return traced
}

// claim compares a figure in a sentence with the results: a number at a path, or the median of a list's.
func (c *checker) claim(line int, what, from string, results any, said string) {
	if !strings.Contains(said, what) {
		c.wrong(line, "take the claim off the comment, or mend it", "the section does not say %q", what)
		return
	}
	path, query, isList := strings.Cut(from, ": ")
	if !isList {
		if file := newer(c.tree, results, path); file != "" {
			c.wrong(line, "write what it says", "%s: %s is newer and has this figure", what, file)
		}
		got, err := number(results, path)
		c.compare(line, what, what, got, err)
		return
	}
	query, rounds, _ := strings.Cut(query, ": ")
	got, err := median(results, path, strings.Split(query, " & "))
	if err == nil {
		c.rounds(line, got.rounds, rounds, said)
	}
	c.compare(line, what, what, got, err)
}

// table is what a comment says of the table after it.
type table struct {
	list          string
	columns, rows []string // queries; a row's with ": N rounds"
}

// table compares a table with the results.
func (c *checker) table(line int, t table, b block, results any, said string) {
	lines := strings.Split(b.text, "\n")
	if !b.is("|") || len(t.rows) == 0 || len(lines) != len(t.rows)+2 {
		c.wrong(line, "move it there, and write a row for each of the table's", "the comment is not right above a table of %d rows", len(t.rows))
		return
	}
	_, first, _ := strings.Cut(t.rows[0], ": ")
	for i, row := range t.rows {
		where, rounds, _ := strings.Cut(row, ": ")
		line := b.line + 2 + i
		cells := strings.Split(strings.Trim(strings.TrimSpace(lines[2+i]), "|"), "|")
		if len(cells) != len(t.columns)+1 {
			c.wrong(line, "write a column for each", "the row has %d cells beside its name, the comment %d columns", len(cells)-1, len(t.columns))
			continue
		}
		if rounds != first {
			c.says(line, rounds, cells[0], "the name of a row that differs from the first in it")
		}
		for j, column := range t.columns {
			got, err := median(results, t.list, append(strings.Split(column, " & "), strings.Split(where, " & ")...))
			if j == 0 && err == nil {
				c.rounds(line, got.rounds, rounds, said)
			}
			c.compare(line, strings.TrimSpace(cells[j+1]), column+" of "+where, got, err)
		}
	}
}

// rounds compares the number of rounds in the results with the comment's, and with the section's words.
func (c *checker) rounds(line, n int, want, said string) {
	if want == "" && n == 1 {
		return // nothing is repeated
	}
	got := fmt.Sprintf("%d rounds", n)
	if n == 1 {
		got = "1 round"
	}
	if got != want {
		c.wrong(line, "write what they have, in the comment and in the text", "the results have %s of this, the comment says %q", got, want)
		return
	}
	c.says(line, want, said, "the section")
}

var numerals = []string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// says wants a number of rounds in a text, in digits or in words.
func (c *checker) says(line int, rounds, text, where string) {
	words, _, _ := strings.Cut(rounds, " ")
	if n, _ := strconv.Atoi(words); n > 0 && n < len(numerals) {
		words += "|" + numerals[n]
	}
	if !regexp.MustCompile(`(?i)\b(` + words + `)( interleaved)? (round|run)s?\b`).MatchString(text) {
		c.wrong(line, "say so to the reader", "%s does not say that it is of %s", where, rounds)
	}
}

// compare compares what is printed with what was measured.
func (c *checker) compare(line int, printed, what string, got value, err error) {
	if err != nil {
		c.wrong(line, "name what is in the results", "%s: %v", what, err)
		return
	}
	low, high, unit, ok := printedRange(printed)
	if !ok {
		c.wrong(line, "write a number and its unit", "%q is no figure", printed)
		return
	}
	if got.centre < low || got.centre > high {
		c.wrong(line, "write what they say", "%s: the results say %.4g, which %q is not", what, got.centre, printed)
	}
	m := printedInterval.FindStringSubmatch(printed)
	switch {
	case m == nil && got.known() && mustHave[unit]:
		c.wrong(line, fmt.Sprintf("write [%.3g..%.3g] behind it", got.low/units[unit], got.high/units[unit]), "%q has no interval", printed)
	case m == nil:
	case !got.known():
		c.wrong(line, "take it off", "%s: the results have no interval", printed)
	default:
		for i, bound := range []float64{got.low, got.high} {
			if low, high, _, ok := printedRange(m[1+i] + unit); !ok || bound < low || bound > high {
				c.wrong(line, "write what they say", "%s: a bound of the interval is %.4g in the results, which %q is not", what, bound/units[unit], m[1+i])
			}
		}
	}
}

// mustHave are the units whose figures need an interval, where there is one.
var mustHave = map[string]bool{"x": true, "ns": true, "µs": true, "ms": true, "s": true}

var printedInterval = regexp.MustCompile(`\[([\d.,]+)\.\.([\d.,]+)\]`)
