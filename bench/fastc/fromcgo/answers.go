//go:build cgo && linux

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// answers are what a person decides in the declarations that fastcgen -init wrote.
type answers struct {
	// quick are functions that get to a call that may block only in a case that the Go package rules out; *: all.
	quick []string
	// elements are how many elements C touches at each pointer of a function that -init asks about, in its order;
	// none where its declaration is right as it is.
	elements map[string][]string
}

var (
	callLine = regexp.MustCompile(`^(// )?//fastc:call (\w+)\(`)
	typeLine = regexp.MustCompile(`(?m)^type (\w+) `)
)

// edit puts the answers into a declaration file.
func (a answers) edit(text string) (string, error) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		m := callLine.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		numbers, asked := a.elements[m[2]]
		switch {
		case m[1] == "" && (slices.Contains(a.quick, m[2]) || slices.Contains(a.quick, "*")):
			for ; strings.HasPrefix(lines[i], "//"); i++ {
				if lines[i] == "//fastc:slow" {
					lines[i] = "//fastc:budget"
				}
			}
		case m[1] != "" && asked:
			if err := declare(lines, i, numbers); err != nil {
				return "", fmt.Errorf("%s: %w", m[2], err)
			}
		}
	}
	edited := strings.Join(lines, "\n")
	for name := range a.elements {
		if !strings.Contains(edited, "\n//fastc:call "+name+"(") {
			return "", fmt.Errorf("-init did not ask about %s", name)
		}
	}
	return once(edited), nil
}

// declare makes a declaration of the comment around line i.
func declare(lines []string, i int, numbers []string) error {
	begin, end := i, i
	for begin > 0 && lines[begin-1] != "//" {
		begin--
	}
	for begin > 1 && strings.HasPrefix(lines[begin-2], "// type ") { // the types that only this one needs
		begin--
		for begin > 0 && lines[begin-1] != "//" {
			begin--
		}
	}
	for !strings.HasPrefix(lines[end], "// func ") {
		end++
	}
	for j := begin; j <= end; j++ {
		l, ok := strings.CutPrefix(lines[j], "// ")
		if !ok {
			l = strings.TrimPrefix(lines[j], "//")
		}
		if strings.Contains(l, "ELEMENTS") {
			if len(numbers) == 0 {
				return fmt.Errorf("it asks for more than that")
			}
			l, numbers = strings.Replace(l, "ELEMENTS", numbers[0], 1), numbers[1:]
		}
		lines[j] = l
	}
	lines[begin-1] = "" // between the question and the declaration
	return nil
}

// once leaves one of several declarations of a type.
func once(text string) string {
	seen := map[string]bool{}
	return typeLine.ReplaceAllStringFunc(text, func(l string) string {
		if seen[l] {
			return "// again: " + l
		}
		seen[l] = true
		return l
	})
}
