// Package cli has what all subcommands share: streams, flags, signals, outputs and exit codes.
package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

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

var ErrUsage = errors.New("usage")

var ErrInterrupted = errors.New("interrupted")

// ErrLimit means that a -fail-if was exceeded, reported already.
var ErrLimit = errors.New("limit exceeded")

// ErrInconclusive means that a -fail-if is inconclusive, reported already.
var ErrInconclusive = errors.New("inconclusive")

type App struct {
	Stdout, Stderr io.Writer
	Style          textfmt.Style // of stdout
	Terminal       bool          // stderr can show progress
	View           bool          // stdout can redraw itself
	Width          int           // of stdout; 0: not a terminal

	hurry context.Context // nil before Catch
}

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

// Catch cancels the context at the first SIGINT, SIGTERM or SIGHUP, and Hurry's at the second.
// release undoes it.
func (a *App) Catch(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	hurry, hurryUp := context.WithCancelCause(context.Background())
	a.hurry = hurry
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	released := make(chan struct{})
	go func() {
		defer signal.Stop(c)
		for _, act := range []func(){cancel, func() { hurryUp(errors.New("interrupted again")) }} {
			select {
			case <-c:
				act()
			case <-released:
				return
			}
		}
	}()
	return ctx, func() { close(released); cancel() }
}

// Hurry returns a context that ends at the second signal.
func (a *App) Hurry() context.Context { return cmp.Or(a.hurry, context.Background()) }

// Await returns what f returns, or ErrInterrupted if ctx ends first. Then f goes on by itself.
func Await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	var result, none T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = f()
	}()
	select {
	case <-done:
		return result, err
	case <-ctx.Done():
		return none, ErrInterrupted
	}
}

// OutlivePipe makes a write to a closed pipe fail, instead of ending the program before its
// children.
func OutlivePipe() (release func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}

// Screen shows texts. On a terminal each replaces the one before.
type Screen struct {
	App   *App
	drawn int // lines on the terminal
}

// Draw shows a text that ends with a newline.
func (s *Screen) Draw(text string) error {
	if s.App.View {
		back := ""
		if s.drawn > 0 {
			back = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn)
		}
		s.drawn = strings.Count(text, "\n")
		// Wider lines are cut, because the cursor goes back by lines.
		text = back + "\x1b[?7l" + text + "\x1b[?7h"
	}
	_, err := io.WriteString(s.App.Stdout, text)
	return err
}
