// Command evenkeel measures a Go service's latency under load, and says what its garbage
// collector costs and why its slowest requests are slow.
//
//	evenkeel load [flags] URL...              put load on a service that runs already
//	evenkeel run [flags] -- COMMAND ARGS...   start a service, load it, report its collector
//	evenkeel explain TRACE                    say from an execution trace why requests were slow
//	evenkeel top URL...                       show what makes a live service's requests slow
//	evenkeel report URL...                    the same of hours and replicas, as a page
//	evenkeel compare run.json...              put runs side by side, as a table or a page
//	evenkeel merge run.json run.json...       add what several machines measured of one load
//	evenkeel convert FILE                     from and to what other tools write
//	evenkeel gctrace [FILE]                   summarise a GODEBUG=gctrace=1 log
//	evenkeel plan SOURCE                      say what replicas need to collect their garbage
//	evenkeel watch URL...                     show replicas behind gates, live
//	evenkeel demo                             show all that in two minutes, for make demo
//	evenkeel version [-json]                  say which this is; -json: and which machine
//
// evenkeel COMMAND -h tells more. Exit codes: 0 done, whatever part of a load failed; 1 it could
// not be done, or no request was answered with a status of 2xx or 3xx; 2 the command line was
// wrong; 3 a -fail-if was exceeded; 4 the runs cannot tell whether one was; 130 interrupted, after
// reporting what there was.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

type subcommand struct {
	name, args, what string
	run              func(context.Context, *cli.App, []string) error
}

var subcommands = []subcommand{
	{"load", "[flags] URL...", "put HTTP load on a service that runs already", runLoad},
	{"run", "[flags] -- COMMAND ARGS...", "start a Go service, load it, say what its collector costs", runRun},
	{"explain", "[flags] TRACE", "say from an execution trace why the slowest requests were slow", runExplain},
	{"top", "[flags] URL...", "show what makes a live service's requests slow, of all its replicas", runTop},
	{"report", "[flags] URL|FILE...", "the same of hours and deployments, as a page", runReport},
	{"compare", "[flags] run.json...", "put runs side by side, as a table or a page", runCompare},
	{"merge", "[flags] run.json run.json...", "add what several machines measured of one load", runMerge},
	{"convert", "[flags] FILE", "from and to what other tools write: HdrHistogram, wrk2, k6, vegeta...", runConvert},
	{"gctrace", "[flags] [FILE]", "summarise a GODEBUG=gctrace=1 log", runGCTrace},
	{"plan", "[flags] SOURCE", "say what replicas need to collect their garbage", runPlan},
	{"watch", "[flags] URL...", "show replicas behind gates, live", runWatch},
	{"demo", "[flags]", "what make demo shows, with two programs of the examples", runDemo},
	{"version", "[-json]", "say which evenkeel this is", runVersion},
}

func main() {
	os.Exit(dispatch(context.Background(), cli.New(), os.Args[1:]))
}

func dispatch(ctx context.Context, a *cli.App, args []string) int {
	if len(args) == 0 {
		usage(a.Stderr)
		return cli.ExitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		if len(args) < 2 {
			usage(a.Stdout)
			return cli.ExitOK
		}
		args = []string{args[1], "-h"}
	case "-version", "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	for _, c := range subcommands {
		if c.name == args[0] {
			return a.Exit(c.name, c.run(ctx, a, args[1:]))
		}
	}
	fmt.Fprintf(a.Stderr, "evenkeel: no command %q; there are load, run, explain, top, report, compare, merge, "+
		"convert, gctrace, plan, watch, demo and version (evenkeel -h)\n", args[0])
	return cli.ExitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "evenkeel measures a Go service's latency under load, and says what its collector costs and "+
		"why\nits slowest requests are slow.\n\n")
	for _, c := range subcommands {
		fmt.Fprintf(w, "  evenkeel %-8s%-32s%s\n", c.name, c.args, c.what)
	}
	fmt.Fprint(w, "\nevenkeel COMMAND -h tells more.\n")
}
