package gctrace

import "fmt"

// SyntaxError says where a line departs from what the runtime prints.
type SyntaxError struct {
	Offset int    // byte of the line, from 0
	Want   string // what belongs there
	Have   string // what stands there, cut short
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("gctrace: byte %d: want %s, have %q; pass one whole line as GODEBUG=gctrace=1 prints it, "+
		"or a Scanner the log as it is", e.Offset, e.Want, e.Have)
}

// Parse reads one gctrace line, from "gc " to "P" or "(forced)", with or without its line
// ending. Nothing else may stand on the line; logs with other text are for [Scanner].
//
// It is strict about the line's shape and lenient about its numbers: any with up to three
// decimal places will do where the runtime prints a time. An error is a [*SyntaxError].
// The line is not kept.
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
	return &SyntaxError{Offset: p.used, Want: want, Have: string(have)}
}
