package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"evenkeel.dev/examples/internal/record"
	"evenkeel.dev/examples/search/match"
)

// What a process leaves with.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// config is the command line, checked.
type config struct {
	addr  string
	mode  string
	match match.Func
	feeds []address // none: the samples

	ttl    time.Duration // of the feeds' copies
	locked bool          // fetch with the cache's lock held

	recorder record.Flags
}

// run is the program until ctx is done. It logs to stdout; stderr is for the runtime's
// gctrace lines and for what keeps the program from starting.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, err := parseArgs(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return exitUsage // parseArgs has said why
	}
	log := slog.New(slog.NewTextHandler(stdout, nil))

	// Listen before anything else starts: a busy port is the likeliest mishap.
	ln, err := net.Listen("tcp", cfg.addr)
	if err != nil {
		fmt.Fprintf(stderr, "search: cannot listen: %v; choose another address with -addr\n", err)
		return exitError
	}
	defer ln.Close()
	if err := serve(ctx, ln, cfg, log); err != nil {
		fmt.Fprintf(stderr, "search: %v\n", err)
		return exitError
	}
	return exitOK
}

func parseArgs(args []string, stderr io.Writer) (config, error) {
	var cfg config
	fs := flag.NewFlagSet("search", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&cfg.addr, "addr", "127.0.0.1:5000", "`host:port` to listen on; port 0 lets the kernel choose")
	fs.StringVar(&cfg.mode, "alloc", "extra", "`mode` of matching: "+match.Modes)
	fs.DurationVar(&cfg.ttl, "ttl", 15*time.Minute, "`age` at which a feed is fetched again, at least 1ms")
	refresh := fs.String("refresh", "free",
		"`how` a feed is fetched again: free, or locked, with the cache's lock held: a mistake to look at")
	feeds := fs.String("feeds", "",
		"comma-separated `name=URL` of real feeds, names "+feedNames()+"; empty: built-in samples")
	cfg.recorder.Register(fs)
	if err := fs.Parse(args); err != nil {
		return config{}, err
	}
	err := func() (err error) {
		if fs.NArg() > 0 {
			return fmt.Errorf("unexpected argument %q", fs.Arg(0))
		}
		if cfg.match, err = match.ByName(cfg.mode); err != nil {
			return fmt.Errorf("-alloc: %w", err)
		}
		if cfg.ttl < time.Millisecond {
			return fmt.Errorf("-ttl %v: choose 1ms or more", cfg.ttl)
		}
		if cfg.locked = *refresh == "locked"; !cfg.locked && *refresh != "free" {
			return fmt.Errorf("-refresh %q: choose one of free, locked", *refresh)
		}
		if cfg.feeds, err = parseFeeds(*feeds); err != nil {
			return fmt.Errorf("-feeds: %w", err)
		}
		return cfg.recorder.Check()
	}()
	if err != nil {
		fmt.Fprintf(stderr, "search: %v\n", err)
		fs.Usage()
	}
	return cfg, err
}
