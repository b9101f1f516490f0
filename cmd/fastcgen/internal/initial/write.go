package initial

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/declfile"
	"evenkeel.dev/cmd/fastcgen/internal/emit"
)

func (in *initializer) text() []byte {
	var b strings.Builder
	b.WriteString("//go:build " + in.constraint() + "\n\n" + in.head() +
		"\npackage " + in.files[0].file.Name.Name + "\n\n" + emit.Comment(in.preamble) + "import \"C\"\n")
	written := map[*declfile.Type]bool{}
	for _, u := range in.declared {
		b.WriteString(typesOf(u, written))
	}
	for _, u := range in.declared {
		fmt.Fprintf(&b, "\n// %s is C's %s.\n//\n%s", u.goName, u.cName, u.declaration())
	}
	for _, u := range in.asked {
		b.WriteString("\n" + emit.Wrapped(fmt.Sprintf("TODO: C.%s (%s): how many elements does C touch at %s?", u.cName,
			u.where(), strings.Join(u.unknown, ", "))) + "//\n")
		for l := range strings.Lines(strings.TrimPrefix(typesOf(u, written)+"\n"+u.declaration(), "\n")) {
			b.WriteString(strings.TrimRight("// "+l, " \n") + "\n")
		}
	}
	return []byte(b.String())
}

// head says above the package clause what to do about the questions below.
func (in *initializer) head() string {
	var names []string
	for _, f := range in.files {
		names = append(names, filepath.Base(f.path))
	}
	text := emit.Wrapped(fmt.Sprintf("The C functions called in %s, as fastcgen -init declared them: read them, "+
		"decide what is left to decide, and run fastcgen %s. Put //fastc:slow above what it warns of. The C "+
		"compiler says what the types are, and the calls "+
		"say which length belongs to which slice. C must keep no pointer to memory of Go.",
		strings.Join(names, ", "), filepath.Base(in.out)))
	if len(in.asked) > 0 {
		text += "//\n" + emit.Wrapped("TODO: Write a number, C.NAME or an expression over the other parameters in "+
			"place of "+elements+". A wrong one lets C write over Go's memory. If C reads up to a zero byte in x, "+
			"require len(x) > 0 && x[len(x)-1] == 0. If C writes one value there, make x a result: pass &x in "+
			"//fastc:call, and leave its require out. If C gets its own memory there, wrap the function.")
	}
	if slices.ContainsFunc(strings.Split(in.preamble, "\n"), func(l string) bool {
		return l != "" && !strings.HasPrefix(l, "#")
	}) {
		text += "//\n" + emit.Wrapped("TODO: The preamble is a copy. If it has variables, or functions that are not "+
			"static, move these to a .c file of the package, because a program may have them once only.")
	}
	return text
}

func (u *guess) where() string { return fmt.Sprintf("%s:%d", filepath.Base(u.at.Filename), u.at.Line) }

func typesOf(u *guess, written map[*declfile.Type]bool) string {
	text := ""
	for _, t := range u.types {
		if written[t] {
			continue
		}
		written[t] = true
		text += fmt.Sprintf("\n// %s is C's %s", t.Name, t.CText())
		if t.Opaque {
			text += ", of which only C may make values.\n//\n//fastc:opaque"
		} else {
			text += "."
		}
		text += fmt.Sprintf("\ntype %s C.%s\n", t.Name, t.CName)
	}
	return text
}

func (u *guess) declaration() string {
	text := fmt.Sprintf("//fastc:call %s(%s)\n", u.cName, strings.Join(u.args, ", "))
	for _, c := range u.clauses {
		text += "//fastc:" + c + "\n"
	}
	return text + fmt.Sprintf("func %s(%s)%s\n", u.goName, declfile.GoParams(&u.decl), declfile.GoResults(&u.decl))
}
