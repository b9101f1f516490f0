package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// cPreamble returns the preamble for the C compiler, with the line numbers of the declaration
// file and without #cgo lines.
func cPreamble(d *declaration) string {
	lines := strings.Split(d.preamble, "\n")
	for i, l := range lines {
		if f := strings.Fields(l); len(f) > 0 && f[0] == "#cgo" {
			lines[i] = ""
		}
	}
	return lineMark(d, d.preambleAt.Line) + strings.Join(lines, "\n") + "\n"
}

// lineMark tells the C compiler which line of the declaration file comes next.
func lineMark(d *declaration, line int) string {
	return fmt.Sprintf("#line %d %s\n", line, strconv.Quote(filepath.Base(d.path)))
}

// cText returns the type as C writes it.
func (t *typeDecl) cText() string {
	for _, tag := range []string{"struct", "enum", "union"} {
		if rest, ok := strings.CutPrefix(t.cName, tag+"_"); ok {
			return tag + " " + rest
		}
	}
	if c, ok := cgoNames[t.cName]; ok {
		return c
	}
	return t.cName
}

// cgoNames are cgo's names for types of several words.
var cgoNames = map[string]string{
	"schar": "signed char", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int",
	"ulong": "unsigned long", "longlong": "long long", "ulonglong": "unsigned long long",
}
