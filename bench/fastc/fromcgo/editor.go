//go:build cgo && linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// editor edits a module's files. The first edit that finds nothing to change is its error.
type editor struct {
	dir, leaf string
	err       error
	edits     int
	renamed   int // calls
}

// change replaces the text of a file.
func (e *editor) change(file string, by func(text string) string) {
	if e.err != nil {
		return
	}
	name := filepath.Join(e.dir, file)
	text, err := os.ReadFile(name)
	if err != nil {
		e.err = err
		return
	}
	changed := by(string(text))
	if e.err == nil {
		e.err = os.WriteFile(name, []byte(changed), 0o644)
	}
}

// all replaces each occurrence of a text.
func (e *editor) all(file, from, to string) {
	e.pattern(file, regexp.QuoteMeta(from), strings.ReplaceAll(to, "$", "$$"))
}

// pattern replaces each match of a regular expression.
func (e *editor) pattern(file, expr, to string) {
	e.change(file, func(text string) string {
		changed := regexp.MustCompile(expr).ReplaceAllString(text, to)
		if changed == text && e.err == nil {
			e.err = fmt.Errorf("%s has no %q", file, expr)
		}
		e.edits++
		return changed
	})
}

var declared = regexp.MustCompile(`(?m)^//fastc:call (\w+)\((?:.*\n//)*.*\nfunc (\w+)\(`)

// numbers of C in arguments, and what they are in Go.
var numbers = strings.NewReplacer(
	"C.int(", "int32(", "C.uint(", "uint32(", "C.size_t(", "uint64(", "C.double(", "float64(", "C.bool(", "bool(",
	"C.uint8_t(", "uint8(", "C.uint32_t(", "uint32(", "C.uint64_t(", "uint64(", "C.int64_t(", "int64(", "C.H3Index(", "uint64(",
)

// calls replaces C.NAME by the Go function that stands for it, in a file, with the numbers among its arguments.
// Those named stay.
func (e *editor) calls(file string, but ...string) {
	text, err := os.ReadFile(filepath.Join(e.dir, e.leaf))
	if err != nil && e.err == nil {
		e.err = err
	}
	goNames := map[string]string{}
	for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
		goNames[m[1]] = m[2]
	}
	for _, name := range but {
		delete(goNames, name)
	}
	e.change(file, func(text string) string {
		for c, name := range goNames {
			var b strings.Builder
			call := regexp.MustCompile(`\bC\.` + c + `\(`)
			for {
				at := call.FindStringIndex(text)
				if at == nil {
					break
				}
				end := closing(text, at[1])
				b.WriteString(text[:at[0]] + name + "(" + numbers.Replace(text[at[1]:end]))
				text = text[end:]
				e.renamed++
			}
			text = b.String() + text
		}
		return text
	})
}

// closing returns the place of the parenthesis that closes what is open at i.
func closing(text string, i int) int {
	for depth := 1; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return i
}
