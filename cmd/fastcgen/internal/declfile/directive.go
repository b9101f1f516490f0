package declfile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const directivePrefix = "//fastc:"

// nearDirective matches a comment that was meant as a directive.
var nearDirective = regexp.MustCompile(`^//[ \t]*(fastc|fastcgen)[ \t]*:`)

// directive is a line //fastc:WORD REST. Only the C compiler parses the expressions of C in fails
// and writes. expressionOfC refuses what would change the code around one.
type directive struct {
	word, rest string
	at, restAt token.Position
}

func (p *fileParser) directives(doc *ast.CommentGroup) []directive {
	if doc == nil {
		return nil
	}
	var list []directive
	for _, c := range doc.List {
		text, ok := strings.CutPrefix(strings.TrimRight(c.Text, "\r"), directivePrefix)
		if !ok {
			continue
		}
		p.done[c] = true
		i := strings.IndexAny(text, " \t")
		if i < 0 {
			i = len(text)
		}
		word, rest := text[:i], strings.TrimLeft(text[i:], " \t")
		at := p.at(c.Pos())
		restAt := moved(at, len(directivePrefix)+len(text)-len(rest))
		list = append(list, directive{word, strings.TrimRight(rest, " \t"), at, restAt})
	}
	return list
}

func moved(at token.Position, n int) token.Position {
	at.Column += n
	at.Offset += n
	return at
}

// strays finds directives without a declaration, and comments that look like a directive.
func (p *fileParser) strays() {
	for _, g := range p.file.Comments {
		for _, c := range g.List {
			switch {
			case p.done[c]:
			case strings.HasPrefix(c.Text, directivePrefix):
				p.refuse(c.Pos(), "a directive that belongs to no function or type",
					"put it in the comment right above one")
			case nearDirective.MatchString(c.Text):
				p.refuse(c.Pos(), "a comment that looks like a directive", "write it as //fastc:WORD, without blanks")
			}
		}
	}
}

// forms are a function's directives, and what has to follow each.
var forms = map[string]struct {
	rest    string
	repeats bool
}{
	"call": {"NAME(ARGUMENTS)", false}, "require": {"CONDITION", true}, "fails": {"CONDITION of C over ret", false},
	"inout": {"RESULT = VALUE", true}, "writes": {"RESULT NUMBER", true},
	"slow": {}, "yield": {}, "budget": {}, "copy": {},
}

func (p *fileParser) directive(f *Func, dir directive) {
	form, known := forms[dir.word]
	switch {
	case !known:
		p.bad.Add(dir.at, "no directive //fastc:"+dir.word,
			"write call, require, slow, yield, budget, fails, copy, inout or writes")
		return
	case f.given[dir.word] && !form.repeats:
		p.bad.Add(dir.at, "a second //fastc:"+dir.word, "leave one out")
		return
	}
	f.given[dir.word] = true
	if dir.rest == "" && form.rest != "" {
		p.bad.Add(dir.at, "//fastc:"+dir.word+" says nothing", "write //fastc:"+dir.word+" "+form.rest)
		return
	}
	switch dir.word {
	case "call":
		p.callDirective(f, dir)
	case "require":
		if c, ok := p.condition(dir); ok {
			f.Requires = append(f.Requires, c)
		}
	case "slow", "yield":
		c := Condition{At: dir.at}
		if dir.rest != "" {
			c, _ = p.condition(dir)
		}
		if dir.word == "slow" {
			f.Slow = &c
		} else {
			f.Yields = &c
		}
	case "fails":
		p.failsDirective(f, dir)
	case "budget":
		p.budgetDirective(f, dir)
	case "copy":
		f.Copies = true
		if dir.rest != "" {
			p.bad.Add(dir.restAt, "//fastc:copy takes no argument", "leave out "+strconv.Quote(dir.rest))
		}
	case "inout":
		p.inoutDirective(f, dir)
	case "writes":
		p.writesDirective(f, dir)
	}
}

func (p *fileParser) expression(dir directive) (e ast.Expr, at func(token.Pos) token.Position, ok bool) {
	fset := token.NewFileSet()
	e, err := parser.ParseExprFrom(fset, "", dir.rest, parser.SkipObjectResolution)
	at = func(pos token.Pos) token.Position { return moved(dir.restAt, fset.PositionFor(pos, false).Offset) }
	if err == nil {
		return e, at, true
	}
	where, what := dir.restAt, err.Error()
	if list, ok := Syntax(err).(Problems); ok && len(list) > 0 {
		where, what = moved(dir.restAt, list[0].At.Offset), list[0].What
	}
	p.bad.Add(where, "//fastc:"+dir.word+": "+what, "write an expression of Go")
	return nil, nil, false
}

func (p *fileParser) callDirective(f *Func, dir directive) {
	e, at, ok := p.expression(dir)
	if !ok {
		return
	}
	call, isCall := e.(*ast.CallExpr)
	if !isCall {
		p.bad.Add(dir.restAt, "//fastc:call "+dir.rest+" is not a call", "write //fastc:call NAME(ARGUMENTS)")
		return
	}
	id, isIdent := call.Fun.(*ast.Ident)
	if !isIdent {
		p.bad.Add(at(call.Pos()), "//fastc:call does not name a C function",
			"write its bare name, as in //fastc:call v_dot(a)")
		return
	}
	f.Call = Call{CName: id.Name, At: at(id.Pos())}
	for _, x := range call.Args {
		if a, ok := p.parseArg(f, x, at(x.Pos())); ok {
			f.Call.Args = append(f.Call.Args, a)
		}
	}
}

func (p *fileParser) condition(dir directive) (Condition, bool) {
	e, at, ok := p.expression(dir)
	if !ok {
		return Condition{}, false
	}
	return Condition{ExprText(e), dir.restAt, constantsOfC(e, at)}, true
}

var resultOfC = regexp.MustCompile(`\b(ret|errno)\b`)

var ReturnOfC = regexp.MustCompile(`\bret\b`)

var goConstant = regexp.MustCompile(`\bC\.[A-Za-z_]\w*`)

func (p *fileParser) failsDirective(f *Func, dir directive) {
	const do = "write a condition over ret or errno, as in ret < 0"
	f.Fails = &Condition{Text: dir.rest, At: dir.restAt}
	if p.expressionOfC(dir, dir.rest, do) && !resultOfC.MatchString(dir.rest) {
		p.bad.Add(dir.restAt, "//fastc:fails does not look at what C returned", do)
	}
}

func (p *fileParser) expressionOfC(dir directive, text, do string) bool {
	if m := goConstant.FindString(text); m != "" {
		p.bad.Add(dir.restAt, m+" in an expression of C", "write "+m[2:])
		return false
	}
	depth := 0
	for _, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 || strings.ContainsAny(text, ";{}#\\") || strings.Contains(text, "//") ||
		strings.Contains(text, "/*") || strings.Contains(text, "*/") {
		p.bad.Add(dir.restAt, "//fastc:"+dir.word+" is not one expression of C", do)
		return false
	}
	return true
}

func (p *fileParser) budgetDirective(f *Func, dir directive) {
	f.Budget = new(time.Duration)
	if dir.rest == "" {
		return
	}
	d, err := time.ParseDuration(dir.rest)
	if err != nil || d <= 0 {
		p.bad.Add(dir.restAt, "the budget "+strconv.Quote(dir.rest)+" is not a positive duration",
			"write it as in 300us")
		return
	}
	f.Budget = &d
}

func (p *fileParser) inoutDirective(f *Func, dir directive) {
	name, value, ok := strings.Cut(dir.rest, "=")
	name = strings.TrimSpace(name)
	if !ok || !token.IsIdentifier(name) {
		p.bad.Add(dir.restAt, "//fastc:inout "+dir.rest+" does not say what a result begins as",
			"write //fastc:inout RESULT = VALUE, as in n = len(dst)")
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
	if a.Kind == ArgResult || a.Kind == ArgNil {
		p.bad.Add(a.At, a.String()+" as what a result begins as",
			"write a parameter, len(x), a literal or C.NAME")
		return
	}
	if _, twice := f.Inouts[name]; twice {
		p.bad.Add(dir.at, "a second //fastc:inout of "+name, "leave one out")
	}
	f.Inouts[name] = a
}

func (p *fileParser) writesDirective(f *Func, dir directive) {
	const do = "write //fastc:writes RESULT NUMBER, as in sum 16; the number may be a constant of C"
	name, text, _ := strings.Cut(strings.ReplaceAll(dir.rest, "\t", " "), " ")
	text = strings.TrimSpace(text)
	if text == "" {
		p.bad.Add(dir.restAt, "//fastc:writes "+dir.rest+" does not say how many elements C writes", do)
		return
	}
	if !p.expressionOfC(dir, text, do) {
		return
	}
	if _, twice := f.Writes[name]; twice {
		p.bad.Add(dir.at, "a second //fastc:writes of "+name, "leave one out")
	}
	f.Writes[name] = Condition{Text: text, At: dir.restAt}
}
