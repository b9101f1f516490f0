package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/explain"
	"evenkeel.dev/cmd/evenkeel/internal/page"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// named splits NAME=TRACE. The default name is the host and port of a URL, or a file's name.
func named(list []string) (services, targets []string) {
	for _, x := range list {
		name, target := splitName(x)
		if name == "" {
			name, _, _ = strings.Cut(filepath.Base(target), ".")
			if u, err := url.Parse(addressed(target)); err == nil && u.Host != "" {
				name = u.Host
			}
		}
		services, targets = append(services, name), append(targets, target)
	}
	return services, targets
}

// splitName splits NAME=TARGET. A target without a name has the name "".
func splitName(x string) (name, target string) {
	name, target, ok := strings.Cut(x, "=")
	if _, err := os.Stat(x); err == nil || !ok || strings.ContainsAny(name, "/:?") {
		return "", x
	}
	return name, target
}

func (f *explainFlags) wrongServices(services, targets []string) error {
	seen, stdin := map[string]bool{}, 0
	for i, s := range services {
		switch {
		case s == explain.Upstream:
			return fmt.Errorf("no service can have the name %s, which stands for all but the first in -fail-if", s)
		case seen[s]:
			return fmt.Errorf("two services are named %s; write a name before one: other=%s", s, targets[i])
		}
		if k := slices.Index(targets, targets[i]); k < i && targets[i] != cli.ToStdout {
			return fmt.Errorf("%s cannot be the trace of both %s and %s; name each service's own", targets[i],
				services[k], s)
		}
		if seen[s] = true; targets[i] == cli.ToStdout {
			stdin++
		}
	}
	switch {
	case stdin > 1:
		return errors.New("only one trace can come from standard input (-)")
	case services == nil:
	case f.perfetto != "":
		return errors.New("-perfetto is for one trace")
	case f.cpuStat != "":
		return errors.New("-cpu-stat is for one trace")
	}
	return nil
}

// acrossServices explains the slowest requests of the first service by what the others did for them.
func acrossServices(
	ctx context.Context, a *cli.App, fs *flag.FlagSet, f *explainFlags, names, targets []string, limits explain.Limits,
) error {
	services, story, err := traces.Services(ctx, a, names, targets, f.options)
	if err != nil {
		return wrongOption(a, fs, targets[0], err)
	}
	var broken error
	for _, s := range services {
		if s.Verdict == nil {
			a.Say("explain", s.Name+": its trace has no requests")
			continue
		}
		if r := s.Report; r.Broken != "" {
			broken = errors.Join(broken, fmt.Errorf("%s: %w: only the part before that counts (%s)", s.Source,
				reqtrace.ErrBroken, r.Broken))
		}
	}
	err = errors.Join(
		a.SavePage(f.html, func(w io.Writer) error { return page.Across(w, story, services) }),
		f.print(a,
			func(w io.Writer) error { return explain.WriteAcrossJSON(w, story, services) },
			func(w io.Writer, o verdict.Options) error { return explain.WriteAcross(w, story, services, o) }),
		broken)
	lines, limitErr := limits.CheckAcross(story, names[0])
	a.Say("explain", lines...)
	return cmp.Or(err, limitErr)
}
