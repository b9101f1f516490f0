package main

import (
	"fmt"
	"go/token"
	"strings"
)

// inoutDirective reads what a result begins as: //fastc:inout n = len(dst).
func (p *fileParser) inoutDirective(f *funcDecl, dir directive) {
	name, value, ok := strings.Cut(dir.rest, "=")
	name = strings.TrimSpace(name)
	if !ok || !token.IsIdentifier(name) {
		p.bad.add(dir.restAt, "//fastc:inout "+dir.rest+" does not say what a result begins as", "write //fastc:inout RESULT = VALUE, as in n = len(dst)")
		return
	}
	value = strings.TrimLeft(value, " \t")
	e, at, ok := p.expression(directive{dir.word, value, dir.at, moved(dir.restAt, len(dir.rest)-len(value))})
	if !ok {
		return
	}
	a, ok := p.parseArg(f, e, at(e.Pos()))
	if !ok {
		return
	}
	if a.kind == argResult || a.kind == argNil {
		p.bad.add(a.at, a.String()+" as what a result begins as", "write a parameter, len(x), cap(x), a literal or C.NAME")
		return
	}
	if _, twice := f.inouts[name]; twice {
		p.bad.add(dir.at, "a second //fastc:inout of "+name, "leave one out")
		return
	}
	f.inouts[name] = a
	f.atOf = append(f.atOf, resultClause{dir.word, name, dir.restAt})
}

// writesDirective reads how much C writes: //fastc:writes sum DIGEST_LENGTH.
func (p *fileParser) writesDirective(f *funcDecl, dir directive) {
	const do = "write //fastc:writes RESULT NUMBER, as in sum 16; the number may be a constant of C"
	name, text, _ := strings.Cut(strings.ReplaceAll(dir.rest, "\t", " "), " ")
	text = strings.TrimSpace(text)
	if text == "" {
		p.bad.add(dir.restAt, "//fastc:writes "+dir.rest+" does not say how many elements C writes", do)
		return
	}
	if !p.expressionOfC(dir, text, do) {
		return
	}
	if _, twice := f.writes[name]; twice {
		p.bad.add(dir.at, "a second //fastc:writes of "+name, "leave one out")
		return
	}
	f.writes[name] = condition{text: text, at: dir.restAt}
	f.atOf = append(f.atOf, resultClause{dir.word, name, dir.restAt})
}

// ofResults checks the directives that name a result, or are about one.
func (p *fileParser) ofResults(f *funcDecl) {
	for _, c := range f.atOf {
		if !f.out(c.result) {
			p.bad.add(c.at, fmt.Sprintf("//fastc:%s %s, which C gets no address of", c.word, c.result),
				"pass &"+c.result+" in //fastc:call")
		}
	}
}
