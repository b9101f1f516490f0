// Command evenkeel measures a Go service's latency under load, and says why its slowest requests
// are slow.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

type subcommand struct {
	name, what string
	example    string
	run        func(context.Context, *cli.App, []string) error
}

var subcommands = []subcommand{
	{"explain", "say why the slowest requests of a server were slow", "explain 127.0.0.1:6060", runExplain},
	{
		"run", "start variants of a service, load each in rounds, compare them",
		"run -url http://127.0.0.1:8080/ -rate 600 -z 5s -- ./server", runRun,
	},
	{
		"load", "put HTTP load on a running service",
		"load -rate 2000 -z 30s -o after.json http://127.0.0.1:8080/", runLoad,
	},
	{"compare", "put runs side by side, as a table or a page", "compare before.json after.json", runCompare},
	{"top", "show live what makes the requests of all replicas slow", "top http://10.0.0.1:6060", runTop},
	{
		"report", "show the same for hours and deployments, as a page",
		"report -html slow.html http://10.0.0.1:6060", runReport,
	},
	{"merge", "add up what several machines measured of one load", "", runMerge},
	{"convert", "read and write what other tools write", "", runConvert},
	{"gctrace", "summarise a GODEBUG=gctrace=1 log", "", runGCTrace},
	{"plan", "say how many replicas and how much memory a load needs", "", runPlan},
	{"watch", "show replicas behind gates, live", "", runWatch},
	{"demo", "show what make demo shows", "", runDemo},
	{"version", "say which evenkeel this is", "", runVersion},
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
	fmt.Fprintf(a.Stderr, "evenkeel: no command %q; evenkeel -h lists the commands\n", args[0])
	return cli.ExitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "evenkeel measures the latency of a Go service under load,\n"+
		"and says why its slowest requests are slow.\n\n")
	for _, c := range subcommands {
		if c.name == "merge" {
			fmt.Fprint(w, "Other commands:\n\n")
		}
		fmt.Fprintf(w, "  %-9s%s\n", c.name, c.what)
		if c.example != "" {
			fmt.Fprintf(w, "             evenkeel %s\n\n", c.example)
		}
	}
	fmt.Fprint(w, `
evenkeel COMMAND -h shows examples and flags. Flags may stand before or after operands.

Exit codes: 0 done. 1 failed, or no request got a status of 2xx or 3xx. 2 wrong command line.
3 a -fail-if is exceeded. 4 a -fail-if is inconclusive. 130 interrupted, after a report.
`)
}

const versionHelp = `
evenkeel version [-json]

Prints the version of evenkeel, or the commit that it was built from.
`

func runVersion(_ context.Context, a *cli.App, args []string) error {
	fs := a.NewFlags("version", versionHelp)
	asJSON := fs.Bool("json", false, "print JSON, with the machine")
	operands, err := a.Operands(fs, args)
	if err != nil {
		return err
	}
	if len(operands) > 0 {
		return a.Wrong(fs, "what is %q?", operands[0])
	}
	if !*asJSON {
		_, err := fmt.Fprintln(a.Stdout, runfile.Tool())
		return err
	}
	return cli.WriteJSON(a.Stdout, struct {
		Tool    string          `json:"tool"`
		Machine runfile.Machine `json:"machine"`
	}{runfile.Tool(), runfile.ThisMachine()})
}
