package initial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/emit"
	"evenkeel.dev/cmd/fastcgen/internal/generate"
	"evenkeel.dev/cmd/fastcgen/internal/reach"
)

const (
	isDeclared = iota
	isAsked
	isLeft
)

func (u *guess) state() int {
	switch {
	case u.refused != "":
		return isLeft
	case len(u.questions) > 0:
		return isAsked
	}
	return isDeclared
}

// block is a piece of the declaration file, and the functions that it is about.
type block struct {
	text string
	of   []*guess
}

func (in *initializer) blocks() []block {
	var names []string
	for _, f := range in.files {
		names = append(names, filepath.Base(f.path))
	}
	head := fmt.Sprintf("//go:build %s\n\n", in.constraint()) +
		emit.Wrapped(fmt.Sprintf("The C functions called in %s, as fastcgen -init declared them: read them, decide "+
			"what is left to decide, and run "+
			"fastcgen %s. The C compiler says what the types are, and the calls say which length belongs to which "+
			"slice.",
			strings.Join(names, ", "), filepath.Base(in.out))) +
		in.aboutElements() +
		"\npackage " + in.files[0].file.Name.Name + "\n\n" + emit.Comment(in.own) + "import \"C\"\n"
	list := []block{{text: head}}
	list = append(list, in.typeBlocks()...)
	for _, u := range in.list {
		if u.state() == isDeclared {
			list = append(list, block{"\n" + u.declaration(), []*guess{u}})
		}
	}
	for _, u := range in.list {
		if u.state() == isAsked {
			list = append(list, block{text: "\n" + in.asked(u)})
		}
	}
	left := ""
	for _, u := range in.list {
		if u.state() == isLeft {
			left += emit.Wrapped(fmt.Sprintf("C.%s (%s): %s.", u.cName, short(u.sites[0].at),
				strings.TrimSuffix(u.refused, ".")))
		}
	}
	if left != "" {
		list = append(list, block{text: "\n// These stay as they are, calls of ordinary cgo.\n//\n" + left})
	}
	return list
}

func (in *initializer) aboutElements() string {
	asks := slices.ContainsFunc(in.list, func(u *guess) bool {
		return u.state() == isAsked && slices.ContainsFunc(u.clauses, func(c string) bool {
			return strings.HasSuffix(c, elements)
		})
	})
	if !asks {
		return ""
	}
	return "//\n" + emit.Wrapped("Write a number, C.NAME or an expression over the other parameters in place of "+
		elements+
		". A wrong one lets C write over Go's memory. If C gets its own memory there, wrap the function.")
}

func (in *initializer) typeBlocks() []block {
	var list []block
	of := map[*guessType]int{}
	for _, u := range in.list {
		if u.state() != isDeclared {
			continue
		}
		for _, t := range u.types {
			if i, ok := of[t]; ok {
				list[i].of = append(list[i].of, u)
				continue
			}
			of[t] = len(list)
			list = append(list, block{"\n" + t.declaration(), []*guess{u}})
		}
	}
	return list
}

func (t *guessType) declaration() string {
	s := fmt.Sprintf("// %s is C's %s", t.goName, (&decl.Type{CName: t.cName}).CText())
	if t.opaque {
		return s + fmt.Sprintf(", of which Go has only pointers.\n//\n//fastc:opaque\ntype %s C.%s\n", t.goName,
			t.cName)
	}
	return s + fmt.Sprintf(".\ntype %s C.%s\n", t.goName, t.cName)
}

func (u *guess) declaration() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "// %s is C's %s.\n", u.goName, u.cName)
	if u.slow != "" {
		b.WriteString("//\n" + emit.Wrapped("By ordinary cgo, because "+u.slow+". Leave //fastc:slow out if you know "+
			"that it does not wait there."))
	}
	b.WriteString("//\n")
	b.WriteString(u.bare())
	return b.String()
}

func (u *guess) bare() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "//fastc:call %s(%s)\n", u.cName, strings.Join(u.args, ", "))
	for _, c := range u.clauses {
		b.WriteString("//fastc:" + c + "\n")
	}
	switch {
	case u.slow != "":
		b.WriteString("//fastc:slow\n")
	case u.length: // its time grows with its input
		b.WriteString("//fastc:budget\n")
	}
	f := &u.decl
	f.Named = slices.ContainsFunc(u.args, func(a string) bool { return strings.HasPrefix(a, "&") })
	if !f.Named {
		f.ErrName = ""
		for i := range f.Results {
			f.Results[i].Name = ""
		}
	}
	fmt.Fprintf(b, "func %s(%s)%s\n", u.goName, decl.GoParams(f), decl.GoResults(f))
	return b.String()
}

// asked writes the questions about a function, and its declaration as a comment.
func (in *initializer) asked(u *guess) string {
	var b strings.Builder
	for i, q := range u.questions {
		lead := ""
		if i == 0 {
			lead = fmt.Sprintf("C.%s (%s): ", u.cName, short(u.sites[0].at))
		}
		b.WriteString(emit.Wrapped(lead + q))
	}
	b.WriteString("//\n")
	text := ""
	for _, t := range u.types {
		if !slices.ContainsFunc(in.list, func(o *guess) bool {
			return o.state() == isDeclared && slices.Contains(o.types, t)
		}) {
			text += t.declaration() + "\n"
		}
	}
	for l := range strings.SplitSeq(strings.TrimSuffix(text+u.bare(), "\n"), "\n") {
		b.WriteString(strings.TrimRight("// "+l, " ") + "\n")
	}
	return b.String()
}

func (in *initializer) text() (text []byte, of map[int][]*guess) {
	var b strings.Builder
	of = map[int][]*guess{}
	line := 1
	for _, bl := range in.blocks() {
		b.WriteString(bl.text)
		for range strings.Count(bl.text, "\n") {
			of[line] = bl.of
			line++
		}
	}
	return []byte(b.String()), of
}

// settle has the other stages read the text, until they refuse nothing. What they refuse becomes a
// question. A function that reaches a blocking call goes by ordinary cgo.
func (in *initializer) settle(ctx context.Context) ([]byte, error) {
	looked := false
	for {
		if in.counts()[isDeclared]+in.counts()[isAsked] == 0 {
			return nil, nil
		}
		text, of := in.text()
		if in.counts()[isDeclared] == 0 {
			return text, nil
		}
		g, err := in.generated(ctx, text)
		if bad, ok := errors.AsType[decl.Problems](err); ok && in.blame(bad, of) {
			continue
		}
		if err != nil || looked {
			return text, err
		}
		looked = true
		in.place(generate.Search(ctx, in.tc, g, in.pkg), of)
	}
}

func (in *initializer) generated(ctx context.Context, text []byte) (*emit.File, error) {
	d, err := decl.Parse(in.out, text)
	if err != nil {
		return nil, err
	}
	if err := in.pkg.Clashes(d).Err(); err != nil {
		return nil, err
	}
	g, err := generate.Checked(ctx, in.tc, d, in.pkg)
	if err != nil {
		return nil, err
	}
	_, err = g.Text()
	return g, err
}

// blame makes questions of problems, and reports whether it found whose they are.
func (in *initializer) blame(bad decl.Problems, of map[int][]*guess) bool {
	found := false
	for _, p := range bad.Sorted() {
		for _, u := range of[p.At.Line] {
			u.ask("fastcgen says of this: %s; %s.", p.What, p.Do)
			found = true
		}
	}
	return found
}

func (in *initializer) place(r *reach.Report, of map[int][]*guess) {
	in.warned = append(in.warned, r.Unseen...)
	for _, f := range r.Findings {
		for _, u := range of[f.Func.Call.At.Line] {
			u.gets(f)
		}
	}
}

func (u *guess) gets(f reach.Finding) {
	said := fmt.Sprintf("%s: %s", f, f.Way)
	switch {
	case f.Kind == reach.Library:
		what := fmt.Sprintf("reaches %s outside this package (%s)", reach.Some(f.Symbols), f.Way)
		if slices.Equal(f.Symbols, []string{u.cName}) {
			what = "is outside this package"
		}
		u.outside = true
		u.ask("It %s. Does that wait, take long or call back into Go? If so, leave the calls to cgo.", what)
	case f.Kind == reach.IntoGo && !f.Sure:
		u.ask("%s. If the pointer leads there in none of the calls, and never will, this is right.", said)
	case f.Kind == reach.Blocks:
		u.slow = said
	case f.Kind == reach.IntoGo:
		u.refuse("a leaf function cannot call Go, and %s", said)
	default:
		u.refuse("%s", said)
	}
}

func writeNew(out string, text []byte) error {
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there and stays as it is: write to another file with -o", out)
	} else if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
