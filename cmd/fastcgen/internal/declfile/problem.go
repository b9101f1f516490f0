package declfile

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

type Problem struct {
	At   token.Position
	What string
	Do   string
}

func (p Problem) String() string {
	if p.Do == "" {
		return fmt.Sprintf("%s: %s", p.At, p.What)
	}
	return fmt.Sprintf("%s: %s; %s", p.At, p.What, p.Do)
}

type Problems []Problem

// Error returns the problems in the order of the file, each once.
func (l Problems) Error() string {
	s := slices.Clone(l)
	slices.SortStableFunc(s, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.Filename, b.At.Filename), cmp.Compare(a.At.Line, b.At.Line),
			cmp.Compare(a.At.Column, b.At.Column))
	})
	var lines []string
	for _, p := range slices.Compact(s) {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

func (l *Problems) Add(at token.Position, what, do string) {
	*l = append(*l, Problem{at, what, do})
}

// Err returns l as an error, or nil if it is empty.
func (l Problems) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Plural writes 1 argument, 2 arguments.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Syntax turns the errors of Go's parser into problems.
func Syntax(err error) error {
	list, ok := errors.AsType[scanner.ErrorList](err)
	if !ok {
		return err
	}
	var bad Problems
	for _, e := range list {
		bad.Add(e.Pos, e.Msg, "")
	}
	return bad
}
