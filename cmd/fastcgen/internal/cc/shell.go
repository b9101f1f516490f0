package cc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Shell runs programs that put their temporary files into one folder.
type Shell struct {
	Dir  string // where programs run
	Temp string
}

// Run runs a program and returns its standard output. Its error carries what the program said. When
// ctx ends, Run kills the program and its children: a C compiler runs others.
func (sh Shell) Run(ctx context.Context, stdin string, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = sh.Dir, append(os.Environ(), "LC_ALL=C", "TMPDIR="+sh.Temp)
	killGroup(cmd)
	cmd.Stdin = strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(said.String()); text != "" {
			return "", errors.New(text)
		}
		return "", fmt.Errorf("%s: %w", command[0], err)
	}
	return out.String(), nil
}

// FirstLine returns what stands before the first line break.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// words splits a line at blanks outside of quotes.
func words(s string) []string {
	var list []string
	var w []byte
	in, quoted := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quoted != 0 && c == quoted:
			quoted = 0
		case quoted != 0:
			w = append(w, c)
		case c == '\'' || c == '"':
			quoted, in = c, true
		case c == '\\' && i+1 < len(s):
			i++
			w, in = append(w, s[i]), true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if in {
				list, w = append(list, string(w)), nil
			}
			in = false
		default:
			w, in = append(w, c), true
		}
	}
	if in {
		list = append(list, string(w))
	}
	return list
}
