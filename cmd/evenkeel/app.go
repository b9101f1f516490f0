package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"evenkeel.dev/internal/textfmt"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitLimit       = 3
	exitCannotTell  = 4
	exitInterrupted = 130
)

// errUsage says that the command line was wrong, and that it was said already.
var errUsage = errors.New("usage")

// errInterrupted says that a signal ended the work early.
var errInterrupted = errors.New("interrupted")

// errLimit says that a -fail-if was exceeded, and that it was said already.
var errLimit = errors.New("limit exceeded")

// app is what a subcommand works with.
type app struct {
	stdout, stderr io.Writer
	style          textfmt.Style   // of stdout
	terminal       bool            // stderr is one: draw progress there
	view           bool            // stdout is one: a view may redraw itself
	width          int             // columns of stdout; 0: it is no terminal
	hurry          <-chan struct{} // closed by the second signal, see catch
}

// exit turns a subcommand's error into an exit code.
func (a *app) exit(name string, err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	case err == errLimit:
		return exitLimit
	case err == errCannotTell:
		return exitCannotTell
	}
	fmt.Fprintf(a.stderr, "evenkeel %s: %v\n", name, err)
	if errors.Is(err, errInterrupted) {
		return exitInterrupted
	}
	return exitFailed
}

// isTerminal reports whether f is a terminal that takes control characters.
func isTerminal(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil || fi.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return false
	}
	null, err := os.Stat(os.DevNull) // a character device too
	return err == nil && !os.SameFile(fi, null)
}
