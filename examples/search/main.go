package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"evenkeel.dev/examples/internal/command"
	"evenkeel.dev/examples/internal/httpserver"
	"evenkeel.dev/examples/internal/record"
	"evenkeel.dev/examples/search/feed"
	"evenkeel.dev/examples/search/feeds"
	"evenkeel.dev/examples/search/match"
)

func main() { newCommand(new(config)).Main() }

func newCommand(cfg *config) command.Command {
	return command.Command{
		Name: "search", Flags: cfg.register, Check: cfg.check,
		Run: func(ctx context.Context, _ io.Writer, log *slog.Logger) error {
			ln, err := command.Listen(cfg.addr)
			if err != nil {
				return err
			}
			defer ln.Close()
			return serve(ctx, ln, cfg, log)
		},
	}
}

// config is the command line.
type config struct {
	addr     string
	mode     string
	ttl      time.Duration // of the feeds' copies
	refresh  string
	given    string // feeds
	recorder record.Flags

	// What check makes of it.
	match  match.Func
	feeds  []address // none: the samples
	locked bool      // fetch with the cache's lock held
}

func (c *config) register(fs *flag.FlagSet) {
	command.AddrFlag(fs, &c.addr, "127.0.0.1:5000")
	fs.StringVar(&c.mode, "alloc", "extra", "`mode` of matching: "+match.Modes)
	fs.DurationVar(&c.ttl, "ttl", 15*time.Minute, "`age` at which a feed is fetched again, at least 1ms")
	fs.StringVar(&c.refresh, "refresh", "free",
		"`how` a feed is fetched again: free, or locked, with the cache's lock held: a mistake to look at")
	fs.StringVar(&c.given, "feeds", "",
		"comma-separated `name=URL` of real feeds, names "+feedNames()+"; empty: built-in samples")
	c.recorder.Register(fs)
}

func (c *config) check() (err error) {
	if c.match, err = match.ByName(c.mode); err != nil {
		return fmt.Errorf("-alloc: %w", err)
	}
	if c.ttl < time.Millisecond {
		return fmt.Errorf("-ttl %v: choose 1ms or more", c.ttl)
	}
	if c.locked = c.refresh == "locked"; !c.locked && c.refresh != "free" {
		return fmt.Errorf("-refresh %q: choose one of free, locked", c.refresh)
	}
	if c.feeds, err = parseFeeds(c.given); err != nil {
		return fmt.Errorf("-feeds: %w", err)
	}
	return c.recorder.Check()
}

// serve answers on ln until ctx is done, then finishes what is under way.
func serve(ctx context.Context, ln net.Listener, cfg *config, log *slog.Logger) error {
	addrs, options := cfg.feeds, feed.Options{TTL: cfg.ttl, HoldLock: cfg.locked, Logger: log}
	if addrs == nil {
		options.Timeout = time.Minute // nobody's network: only a busy machine is slow
		var stop func()
		var err error
		if addrs, stop, err = serveSamples(log); err != nil {
			return err
		}
		defer stop()
	}

	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	s := &searcher{
		sources: newSources(addrs, &http.Client{Transport: transport}, options),
		match:   cfg.match,
		sample:  cfg.feeds == nil,
		log:     log,
	}
	defer func() {
		for _, src := range s.sources {
			src.cache.Close()
		}
	}()

	if err := cfg.recorder.Start(log); err != nil {
		return err
	}
	defer cfg.recorder.Close()
	return httpserver.Serve(ctx, ln, cfg.recorder.Around(s.routes()), log, "alloc", cfg.mode)
}

// serveSamples starts the feed server that stands in for the publishers, and returns where
// its feeds are.
func serveSamples(log *slog.Logger) (addrs []address, stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start the sample feeds: %w; or give real ones with -feeds", err)
	}
	srv := httpserver.New(feeds.Handler(), log)
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(ln) // ends with ErrServerClosed
	}()
	for _, k := range known {
		addrs = append(addrs, address{name: k.name, url: "http://" + ln.Addr().String() + "/" + k.name + ".xml"})
	}
	return addrs, func() { srv.Close(); <-done }, nil
}
