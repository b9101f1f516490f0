// Package cli has what all subcommands share: streams, flags, signals, outputs and exit codes.
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
	ExitOK           = 0
	ExitFailed       = 1
	ExitUsage        = 2
	ExitLimit        = 3
	ExitInconclusive = 4
	ExitInterrupted  = 130
)

// ErrUsage means that the command line was wrong, which was said already.
var ErrUsage = errors.New("usage")

// ErrInterrupted means that a signal ended the work.
var ErrInterrupted = errors.New("interrupted")

// ErrLimit means that a -fail-if was exceeded, which was said already.
var ErrLimit = errors.New("limit exceeded")

// ErrInconclusive means that a -fail-if is inconclusive, which was said already.
var ErrInconclusive = errors.New("inconclusive")

// App is what a subcommand works with.
type App struct {
	Stdout, Stderr io.Writer
	Style          textfmt.Style   // of stdout
	Terminal       bool            // stderr can show progress
	View           bool            // stdout can redraw itself
	Width          int             // columns of stdout; 0: not a terminal
	Hurry          <-chan struct{} // closed by the second signal
}

// New returns the App of this process.
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
	case err == ErrInconclusive:
		return ExitInconclusive
	}
	a.Say(name, err.Error())
	if errors.Is(err, ErrInterrupted) {
		return ExitInterrupted
	}
	return ExitFailed
}

// Say writes lines to standard error.
func (a *App) Say(name string, lines ...string) {
	for _, l := range lines {
		fmt.Fprintf(a.Stderr, "evenkeel %s: %s\n", name, l)
	}
}

func isTerminal(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil || fi.Mode()&os.ModeCharDevice == 0 || os.Getenv("TERM") == "dumb" {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && !os.SameFile(fi, null)
}
