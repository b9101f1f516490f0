package gctrace

import "fmt"

// Parse reads one gctrace line, with or without its line ending, and does not keep it. Use
// [Scanner] for a log with other text.
func Parse(line []byte) (Cycle, error) {
	line = trimEOL(line)
	var v values
	p := match(&v, posGC, line, nil)
	if !p.complete(line) {
		return Cycle{}, syntaxError(p, line)
	}
	return v.cycle(), nil
}

func syntaxError(p progress, line []byte) error {
	if p.used < len(line) && isDigit(line[p.used]) && p.next > posGC && grammar[p.next-1].scale != 0 {
		p = progress{next: p.next - 1, used: p.last} // a number that is out of range
	}
	want := "the end of the line"
	if p.next < posEnd {
		want = grammar[p.next].want
	}
	have := line[p.used:]
	if len(have) > 24 {
		have = have[:24]
	}
	return fmt.Errorf("gctrace: byte %d: want %s, have %q; pass one whole line as GODEBUG=gctrace=1 prints it, "+
		"or a Scanner the log as it is", p.used, want, have)
}
