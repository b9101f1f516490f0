//go:build cgo && linux

// Command fromcgo takes pinned Go modules that wrap C from cgo to leaf calls, and runs their own tests before
// and after. With -rounds it compares the speed, in interleaved rounds.
//
//	cd bench && go run ./fastc/fromcgo [-only NAME] [-rounds 10]
//
// It does what a person does after fastcgen -init, by rule, and quotes nothing of a module:
//
//  1. The declarations generate as they are.
//  2. The answers in modules.go go into them: a number in place of ELEMENTS, and //fastc:budget in place of
//     //fastc:slow where the module rules out what fastcgen warns of.
//  3. Each call C.f(...) of a leaf function becomes a call of an adapter, which has the signature of C.f and
//     converts by what both types are: see adapter. Calls of other functions stay.
//
// The tests run with counters in the adapters: the same tests have to pass as before, by leaf calls. The
// modules come from the module cache, or through the proxy; no source of theirs is kept here.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"evenkeel.dev/bench/figure"
)

func main() {
	log.SetFlags(0)
	root := flag.String("root", "..", "`folder` of module evenkeel.dev")
	only := flag.String("only", "", "one `module`, by its name")
	rounds := flag.Int("rounds", 0, "interleaved `rounds` of benchmarks by cgo and by fastc; 0: none")
	results := flag.String("results", "results", "`folder` for the raw results of the rounds")
	keep := flag.String("keep", "", "leave the changed modules in this `folder`")
	var again figure.Again
	again.Flags(flag.CommandLine)
	flag.Parse()
	if again.File != "" {
		if err := again.Judge("fromcgo", os.Stdout, judge); err != nil {
			log.Fatal("fromcgo: ", err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *root, *only, *rounds, *results, *keep); err != nil {
		log.Fatal("fromcgo: ", err)
	}
}

func run(ctx context.Context, root, only string, rounds int, results, keep string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if rounds > 0 {
		if err := figure.CheckSave(results); err != nil {
			return err
		}
	}
	dir := keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "fromcgo-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	w := &work{ctx: ctx, root: root, dir: dir, out: os.Stdout}
	if err := w.build(); err != nil {
		return err
	}
	set := figure.New("fromcgo")
	set.Machine = figure.Machine()
	chosen := slices.DeleteFunc(slices.Clone(modules), func(m module) bool { return only != "" && only != m.name })
	if len(chosen) == 0 {
		return fmt.Errorf("no module %s: see bench/fastc/fromcgo/modules.go", only)
	}
	for _, m := range chosen {
		if err := w.convert(m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		set.Versions[m.path] = m.version
		if rounds > 0 {
			if err := w.compare(m, set, rounds); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	if rounds == 0 {
		return nil
	}
	return set.Save(results)
}
