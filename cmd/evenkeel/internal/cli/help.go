package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	helpColumns = 100
	helpIndent  = 22 // of what a flag does
)

// writeHelp writes text and groups of flags. The first group that names a flag shows it. A last
// group has the rest.
func writeHelp(w io.Writer, fs *flag.FlagSet, text string, groups []string) {
	fmt.Fprintln(w, strings.TrimSpace(text))
	rest := "Flags:"
	fs.VisitAll(func(f *flag.Flag) { rest += " " + f.Name })
	shown := map[string]bool{}
	for _, g := range append(groups, rest) {
		title, list, _ := strings.Cut(g, ":")
		names := slices.DeleteFunc(strings.Fields(list), func(n string) bool { return shown[n] })
		if len(names) > 0 {
			fmt.Fprintf(w, "\n%s:\n", title)
		}
		for _, n := range names {
			writeFlag(w, fs.Lookup(n))
			shown[n] = true
		}
	}
}

func writeFlag(w io.Writer, f *flag.Flag) {
	value, usage := flag.UnquoteUsage(f)
	if !slices.Contains([]string{"", "0", "0s", "0%", "false"}, f.DefValue) {
		usage += " (default " + f.DefValue + ")"
	}
	line := fmt.Sprintf("%-*s", helpIndent, "  -"+f.Name+" "+value)
	if len(line) > helpIndent {
		fmt.Fprintln(w, line)
		line = strings.Repeat(" ", helpIndent)
	}
	for word := range strings.FieldsSeq(usage) {
		if len(line)+1+len(word) > helpColumns {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", helpIndent)
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
