package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/explain"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

func against(
	ctx context.Context, a *cli.App, fs *flag.FlagSet, f *explainFlags, names []string, limits explain.Limits,
	o reqtrace.Options,
) error {
	sides := [2][]string{f.against, names}
	for i := range sides {
		var err error
		if sides[i], err = expand(sides[i]); err != nil {
			return a.Wrong(fs, "%v", err)
		}
	}
	if err := cli.CanSave(append(sides[0], sides[1]...), f.html); err != nil {
		return err
	}
	ctx, release := a.Catch(ctx)
	defer release()
	var reports [2][]*reqtrace.Report
	var broken error
	for i, list := range sides {
		for _, name := range list {
			source, v, err := verdictOn(ctx, a, name, 0, !f.noProfile, o)
			if err != nil {
				return wrongOption(a, fs, source, err)
			}
			r := v.Report()
			if r.Requests == 0 {
				return fmt.Errorf("%s: %s", source, v.Sentence)
			}
			if r.Broken != "" {
				broken = errors.Join(broken, fmt.Errorf("%s: %w: what stands before is compared (%s)", source,
					reqtrace.ErrBroken, r.Broken))
			}
			reports[i] = append(reports[i], r)
		}
	}
	c, err := verdict.Compare(reports[0], reports[1], verdict.ChangeOptions{})
	if err != nil {
		return err
	}
	err = errors.Join(a.SavePage(f.html, func(w io.Writer) error { return page.Change(w, c) }),
		printChange(a, c, sides, f))
	lines, limitErr := limits.CheckChange(c)
	a.Say("explain", lines...)
	// A limit that part of a trace keeps may be exceeded by the rest.
	return cmp.Or(errors.Join(err, broken), limitErr)
}

// expand returns the files that patterns stand for. A name without a file may be a URL.
func expand(patterns []string) (names []string, err error) {
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		_, notThere := os.Stat(p)
		switch {
		case fetch.IsURL(p), notThere == nil: // even if it reads as a pattern
			found = []string{p}
		case err != nil:
			return nil, fmt.Errorf("%q is no pattern of files: %w", p, err)
		case found == nil && strings.ContainsAny(p, "*["):
			return nil, fmt.Errorf("no file matches %q", p)
		case found == nil:
			found = []string{p}
		}
		for _, name := range found { // a file counts once, a URL is asked anew
			if fetch.IsURL(name) || !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

func printChange(a *cli.App, c *verdict.Change, sides [2][]string, f *explainFlags) error {
	switch {
	case f.json:
		return explain.WriteChange(a.Stdout, sides, c)
	case f.html == cli.ToStdout:
		return nil
	}
	return c.WriteText(a.Stdout, verdict.Options{Color: a.Style.Color, Width: a.Width})
}
