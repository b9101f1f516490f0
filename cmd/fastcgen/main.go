// Command fastcgen writes typed Go wrappers that run C functions through evenkeel.dev/fastc: as
// leaf calls on the system stack, without the scheduler's round trip.
//
//	fastcgen [flags] FILE...
//
//	-check   write nothing; exit 1 when a generated file is not up to date
//	-init    FILEs are ordinary files of one package that use cgo: declare the C functions that they call
//
// fastcgen -init p.go writes p_leaf.go, a declaration file for you to finish, and changes no file.
//
// FILE is a declaration file, which Go never compiles. From dot.go fastcgen makes dot_fastc.go
// under //go:build cgo. An ordinary file of the package has:
//
//	//go:generate go run evenkeel.dev/cmd/fastcgen dot.go
//
// A declaration file has a preamble as for cgo, and functions without bodies:
//
//	//go:build fastcgen
//
//	package vec
//
//	// #include "vec.h"
//	import "C"
//
//	// Point is laid out as struct v_point.
//	type Point C.struct_v_point
//
//	// Dot returns the dot product of a and b.
//	//
//	//fastc:call v_dot(a, b, len(a))
//	//fastc:require len(b) >= len(a)
//	func Dot(a, b []float64) float64
//
// docs/fastcgen.md has the directives, and which types match.
//
// Go's types have to match C's in width, signedness and kind. fastcgen refuses others, and says what
// to write instead. If C changes later, the generated file does not compile.
//
// Exit codes: 0 done; 1 something is wrong, or with -check stale; 2 the command line was wrong; 130
// interrupted.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"evenkeel.dev/cmd/fastcgen/internal/declfile"
	"evenkeel.dev/cmd/fastcgen/internal/generate"
	"evenkeel.dev/cmd/fastcgen/internal/initial"
)

const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

const usage = `fastcgen writes typed Go wrappers that run C functions through evenkeel.dev/fastc.

  fastcgen [flags] FILE...

Each FILE is a declaration file, a Go file under //go:build fastcgen. For dot.go it writes
dot_fastc.go beside it, once everything in the file is right. In an ordinary file of the package:

  //go:generate go run evenkeel.dev/cmd/fastcgen dot.go

With -init, p.go is an ordinary file that calls C: fastcgen -init p.go writes p_leaf.go, its declarations.

docs/fastcgen.md says what a declaration file may have.

Flags:
`

type app struct {
	stdout, stderr io.Writer
	check          bool // compare, write nothing
	init           bool // write declarations
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := &app{stdout: os.Stdout, stderr: os.Stderr}
	code := a.main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func (a *app) main(ctx context.Context, args []string) int {
	fs := flag.NewFlagSet("fastcgen", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&a.check, "check", false, "write nothing; exit 1 when a generated file is not up to date")
	fs.BoolVar(&a.init, "init", false, "FILEs are ordinary files of one package that use cgo: declare the C "+
		"functions that they call in a new file")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(a.stdout, usage)
		fs.SetOutput(a.stdout)
		fs.PrintDefaults()
		return exitOK
	case err != nil:
		return a.wrong("%v", err)
	case fs.NArg() == 0:
		return a.wrong("no file: name the declaration file, as in fastcgen dot.go")
	case a.init && a.check:
		return a.wrong("-check with -init: declarations are written once, and yours from then on; leave one out")
	}
	code := exitOK
	files, run := fs.Args(), func(name string) error { return a.file(ctx, name) }
	if a.init {
		files, run = files[:1], func(string) error { return initial.Run(ctx, fs.Args(), a.stderr) }
	}
	for _, name := range files {
		if err := run(name); ctx.Err() != nil {
			fmt.Fprintln(a.stderr, "fastcgen: interrupted")
			return exitInterrupted
		} else if err != nil {
			a.report(err)
			code = exitFailed
		}
	}
	return code
}

func (a *app) wrong(format string, args ...any) int {
	fmt.Fprintf(a.stderr, "fastcgen: %s\nfastcgen -h tells more\n", fmt.Sprintf(format, args...))
	return exitUsage
}

func (a *app) report(err error) {
	if list, ok := errors.AsType[declfile.Problems](err); ok {
		fmt.Fprintln(a.stderr, list)
		return
	}
	fmt.Fprintf(a.stderr, "fastcgen: %v\n", err)
}

func (a *app) file(ctx context.Context, name string) error {
	out := declfile.OutputName(name)
	old, err := os.ReadFile(out)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return err
	case len(old) > 0 && !bytes.HasPrefix(old, []byte(declfile.Header)):
		return fmt.Errorf("%s is not a file that fastcgen generated, and stays as it is: rename or remove it", out)
	}
	text, warnings, err := generate.File(ctx, name, out)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(a.stderr, w)
	}
	if !a.check {
		if err := os.WriteFile(out, text, 0o644); err != nil {
			return fmt.Errorf("cannot write %s: %w", out, err)
		}
		return nil
	}
	const do = "run go generate, or fastcgen %s"
	switch {
	case missing:
		return fmt.Errorf("%s does not exist: "+do, out, name)
	case !bytes.Equal(old, text):
		return fmt.Errorf("%s is stale: "+do, out, name)
	}
	return nil
}
