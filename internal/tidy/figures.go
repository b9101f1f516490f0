package tidy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The figures of README.md are traced by comments that readers do not see:
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
// rows differ in it, in the names of those that differ from the first.
//
// A block of what a command prints is traced by "<!-- output: evenkeel compare FILE -->", which a
// test of cmd/evenkeel runs.

// CheckFigures finds figures of the README that no raw results hold up.
func CheckFigures(t *Tree) []Finding {
	f := t.file("README.md")
	if f == nil {
		return nil
	}
	c := &figureCheck{tree: t, file: f}
	for _, s := range sections(f.Text) {
		c.section(s)
	}
	return c.found
}

// block is a part of a Markdown file: lines of one kind.
type block struct {
	kind  blockKind
	line  int // of the first, from 1
	lines []string
}

type blockKind int

const (
	proseBlock blockKind = iota
	tableBlock
	fenceBlock   // with its two lines of backquotes
	commentBlock // <!-- ... -->
	commandBlock // indented by four spaces
)

// sections splits a Markdown text into blocks, by its headings.
func sections(text string) (all [][]block) {
	var now []block
	in := proseBlock // fence or comment, until it ends
	for i, line := range strings.Split(text, "\n") {
		kind := in
		switch {
		case in == proseBlock && strings.HasPrefix(line, "```"):
			kind, in = fenceBlock, fenceBlock
		case in == proseBlock && strings.HasPrefix(line, "<!--"):
			kind, in = commentBlock, commentBlock
		case in == fenceBlock && strings.HasPrefix(line, "```"):
			in = proseBlock
		case in == proseBlock && strings.HasPrefix(line, "#"):
			all, now = append(all, now), nil
		case in == proseBlock && strings.HasPrefix(line, "|"):
			kind = tableBlock
		case in == proseBlock && strings.HasPrefix(line, "    "):
			kind = commandBlock
		case in == proseBlock && strings.TrimSpace(line) == "":
			continue
		}
		opened := strings.HasPrefix(line, "```") && in == fenceBlock || strings.HasPrefix(line, "<!--")
		if n := len(now); n > 0 && now[n-1].kind == kind && now[n-1].line+len(now[n-1].lines) == i+1 && !opened {
			now[n-1].lines = append(now[n-1].lines, line)
		} else {
			now = append(now, block{kind, i + 1, []string{line}})
		}
		if in == commentBlock && strings.Contains(line, "-->") {
			in = proseBlock
		}
	}
	return append(all, now)
}

// figure is a number with a unit of a result, as it is printed: 8.6 ms, 1,875 ms, 64%, 1.98x.
var figure = regexp.MustCompile(`(\d[\d,]*(?:\.\d+)?)(?:\s?(ns|µs|ms|s|KiB|MiB|GiB|kB|MB|GB|x|requests/s|requests a second)\b|(%))`)

// hidden is what of a line is no text: code, and where links lead.
var hidden = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")

type figureCheck struct {
	tree  *Tree
	file  *File
	found []Finding
}

func (c *figureCheck) wrong(line int, what, do string, args ...any) {
	c.found = append(c.found, c.file.atLine(line, fmt.Sprintf(what, args...), do))
}

// section checks one section.
func (c *figureCheck) section(blocks []block) {
	var traced []string // the texts of its comments, and the numbers of its blocks
	var visible strings.Builder
	for _, b := range blocks {
		if b.kind == proseBlock || b.kind == tableBlock {
			fmt.Fprintln(&visible, strings.Join(b.lines, " "))
		}
		if b.kind == fenceBlock || b.kind == tableBlock {
			traced = append(traced, strings.FieldsFunc(strings.Join(b.lines, " "), func(r rune) bool { return strings.ContainsRune(" |*()", r) })...)
		}
	}
	text := visible.String()
	for i, b := range blocks {
		var next block
		if i+1 < len(blocks) {
			next = blocks[i+1]
		}
		if b.kind == commentBlock && strings.HasPrefix(b.lines[0], "<!-- figures ") {
			traced = append(traced, c.comment(b, next, text)...)
		}
	}
	for i, b := range blocks {
		above := ""
		if i > 0 && blocks[i-1].kind == commentBlock {
			above = strings.Join(blocks[i-1].lines, "\n")
		}
		joined := strings.Join(b.lines, "\n")
		switch {
		case b.kind == tableBlock && figure.MatchString(joined) && !strings.Contains(above, "\ncolumns "):
			c.wrong(b.line, "a table with figures has no raw results", "put a comment <!-- figures FILE ... --> above it, as internal/tidy/figures.go says")
		case b.kind == fenceBlock && b.lines[0] == "```" && figure.MatchString(joined) && !strings.HasPrefix(above, "<!-- output: "):
			c.wrong(b.line, "a block with figures does not say what prints it", "put a comment <!-- output: evenkeel ... --> above it")
		case b.kind == proseBlock:
			c.sentences(b, traced)
		}
	}
}

// sentences finds figures in sentences that no comment of the section traces.
func (c *figureCheck) sentences(b block, traced []string) {
	for i, line := range b.lines {
		line = hidden.ReplaceAllString(line, "")
		for _, at := range figure.FindAllStringIndex(line, -1) {
			fig := line[at[0]:at[1]]
			number := figure.FindStringSubmatch(fig)[1]
			if !slices.ContainsFunc(traced, func(s string) bool { return s == number || strings.Contains(s, fig) }) {
				c.wrong(b.line+i, "nothing says where %s is from", "trace it with a line 'text' or 'given' of a comment <!-- figures FILE ... --> in this section", fig)
			}
		}
	}
}

// comment checks what a comment traces, and returns the texts that it does.
func (c *figureCheck) comment(b, next block, section string) (traced []string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(b.lines[0], "<!-- figures "), " ")
	results, err := readResults(c.tree, name)
	if err != nil {
		c.wrong(b.line, "%v", "name a file of bench/results", err)
		return nil
	}
	var cols, rows []string
	var list string
	for i, line := range b.lines[1:] {
		at := b.line + 1 + i
		word, rest, _ := strings.Cut(strings.TrimSpace(strings.TrimSuffix(line, "-->")), " ")
		switch word {
		case "columns":
			list, rest, _ = strings.Cut(rest, ": ")
			cols = strings.Split(rest, "; ")
		case "rows":
			rows = strings.Split(rest, "; ")
		case "given":
			traced = append(traced, strings.Split(rest, "; ")...)
		case "text":
			for claim := range strings.SplitSeq(rest, "; ") {
				what, from, _ := strings.Cut(claim, ": ")
				traced = append(traced, what)
				c.claim(at, what, from, results, section)
			}
		case "":
		default:
			c.wrong(at, "%q begins no line of such a comment", "write columns, rows, text or given", word)
		}
	}
	if cols != nil {
		c.table(b, next, results, list, cols, rows, section)
	}
	return traced
}

// claim compares a figure in a sentence with the results: a number at a path, or the median of a list's.
func (c *figureCheck) claim(line int, what, from string, results *results, section string) {
	if !strings.Contains(strings.Join(strings.Fields(section), " "), what) {
		c.wrong(line, "the section does not say %q", "take the claim off the comment, or mend it", what)
		return
	}
	path, query, isList := strings.Cut(from, ": ")
	if !isList {
		got, err := results.number(path)
		c.compare(line, what, what, got, err)
		return
	}
	query, rounds, _ := strings.Cut(query, ": ")
	got, n, err := results.median(path, strings.Split(query, " & "))
	if err == nil {
		c.rounds(line, n, rounds, section)
	}
	c.compare(line, what, what, got, err)
}

// table compares a table with the results.
func (c *figureCheck) table(b, t block, results *results, list string, cols, rows []string, section string) {
	if t.kind != tableBlock || len(t.lines) != len(rows)+2 {
		c.wrong(b.line, "the comment is not right above a table of %d rows", "move it there, and write a row for each of the table's", len(rows))
		return
	}
	first := ""
	for i, row := range rows {
		where, rounds, _ := strings.Cut(row, ": ")
		line := t.line + 2 + i
		cells := strings.Split(strings.Trim(strings.TrimSpace(t.lines[2+i]), "|"), "|")
		if len(cells) != len(cols)+1 {
			c.wrong(line, "the row has %d cells beside its name, the comment %d columns", "write a column for each", len(cells)-1, len(cols))
			continue
		}
		if i == 0 {
			first = rounds
		} else if rounds != first {
			c.says(line, rounds, cells[0], "the name of a row that differs from the first in it")
		}
		for j, col := range cols {
			got, n, err := results.median(list, append(strings.Split(col, " & "), strings.Split(where, " & ")...))
			if j == 0 && err == nil {
				c.rounds(line, n, rounds, section)
			}
			c.compare(line, strings.TrimSpace(cells[j+1]), col+" of "+where, got, err)
		}
	}
}

// rounds compares the number of rounds in the results with the comment's, and with the section's words.
func (c *figureCheck) rounds(line, n int, want, section string) {
	if got := strings.TrimSuffix(fmt.Sprintf("%d rounds", n), "s"); n == 1 && got != want || n != 1 && got+"s" != want {
		c.wrong(line, "the results have %d rounds of this, the comment says %q", "write what they have, in the comment and in the text", n, want)
		return
	}
	c.says(line, want, section, "the section")
}

var numerals = []string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// says wants a number of rounds in a text, in digits or in words.
func (c *figureCheck) says(line int, rounds, text, where string) {
	digits, _, _ := strings.Cut(rounds, " ")
	n, _ := strconv.Atoi(digits)
	words := digits
	if n > 0 && n < len(numerals) {
		words += "|" + numerals[n]
	}
	if !regexp.MustCompile(`(?i)\b(` + words + `)( interleaved)? (round|run)s?\b`).MatchString(text) {
		c.wrong(line, "%s does not say that it is of %s", "say so to the reader", where, rounds)
	}
}

// compare compares what is printed with what was measured.
func (c *figureCheck) compare(line int, printed, what string, got float64, err error) {
	if err != nil {
		c.wrong(line, "%s: %v", "name what is in the results", what, err)
		return
	}
	if low, high, ok := printedRange(printed); !ok {
		c.wrong(line, "%q is no figure", "write a number and its unit", printed)
	} else if got < low || got > high {
		c.wrong(line, "%s: the results say %.4g, which %q is not", "write what they say", what, got, printed)
	}
}
