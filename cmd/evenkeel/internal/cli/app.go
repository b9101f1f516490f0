// Package cli has what every subcommand works with: its streams, flags, signals, outputs and exit
// codes.
package cli

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
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitLimit       = 3
	ExitCannotTell  = 4
	ExitInterrupted = 130
)

// ErrUsage says that the command line was wrong, and that it was said already.
var ErrUsage = errors.New("usage")

// ErrInterrupted says that a signal ended the work early.
var ErrInterrupted = errors.New("interrupted")

// ErrLimit says that a -fail-if was exceeded, and that it was said already.
var ErrLimit = errors.New("limit exceeded")

// ErrCannotTell says that runs could not tell whether a -fail-if was exceeded, and that it was said
// already.
var ErrCannotTell = errors.New("cannot tell")

// App is what a subcommand works with.
type App struct {
	Stdout, Stderr io.Writer
	Style          textfmt.Style   // of stdout
	Terminal       bool            // stderr is one: draw progress there
	View           bool            // stdout is one: a view may redraw itself
	Width          int             // columns of stdout; 0: it is no terminal
	Hurry          <-chan struct{} // closed by the second signal, see Catch
}

// New returns what a subcommand works with in this process.
func New() *App {
	return &App{
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Style:    textfmt.Style{Color: isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == ""},
		Terminal: isTerminal(os.Stderr),
		View:     isTerminal(os.Stdout),
		Width:    columns(os.Stdout),
	}
}

// Exit turns a subcommand's error into an exit code.
func (a *App) Exit(name string, err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return ExitOK
	case errors.Is(err, ErrUsage):
		return ExitUsage
	case err == ErrLimit:
		return ExitLimit
	case err == ErrCannotTell:
		return ExitCannotTell
	}
	a.Say(name, err.Error())
	if errors.Is(err, ErrInterrupted) {
		return ExitInterrupted
	}
	return ExitFailed
}

// Say writes lines of a subcommand to standard error.
func (a *App) Say(name string, lines ...string) {
	for _, l := range lines {
		fmt.Fprintf(a.Stderr, "evenkeel %s: %s\n", name, l)
	}
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
