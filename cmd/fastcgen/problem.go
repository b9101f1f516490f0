package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// problem is something wrong in a declaration file.
type problem struct {
	at   token.Position
	what string
	do   string // what to write instead
}

func (p problem) String() string {
	if p.do == "" {
		return fmt.Sprintf("%s: %s", p.at, p.what)
	}
	return fmt.Sprintf("%s: %s; %s", p.at, p.what, p.do)
}

// problems is everything wrong in a declaration file.
type problems []problem

func (l problems) Error() string {
	lines := make([]string, len(l))
	for i, p := range l.sorted() {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted returns the problems in the order of the file, each once.
func (l problems) sorted() problems {
	s := slices.Clone(l)
	slices.SortStableFunc(s, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Column, b.at.Column))
	})
	return slices.Compact(s)
}

// add appends a problem.
func (l *problems) add(at token.Position, what, do string) {
	*l = append(*l, problem{at, what, do})
}

// err returns l as an error, nil when it is empty.
func (l problems) err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// plural counts things for a reader: 1 argument, 2 arguments.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// syntax turns the errors of Go's parser into problems.
func syntax(err error) error {
	list, ok := errors.AsType[scanner.ErrorList](err)
	if !ok {
		return err
	}
	var bad problems
	for _, e := range list {
		bad.add(e.Pos, e.Msg, "")
	}
	return bad
}
