// Command search is a web application that searches three news feeds, in two versions that answer
// alike and allocate differently. Watch the garbage collector with it.
//
//	go run ./search                  # from examples/; then open http://127.0.0.1:5000
//	go run ./search -alloc=lean      # the version without the extra copies
//
// The idea comes from Ardan Labs' study of GC traces. README.md says how to compare the versions.
//
// A request is GET or POST /search?term=president&cnn=on&bbc=on&nyt=on. /debug/pprof/ has the
// profiles. Without -feeds the program serves sample feeds of its own.
package main

import (
	"flag"
	"fmt"
	"time"

	"evenkeel.dev/examples/internal/command"
	"evenkeel.dev/examples/internal/record"
	"evenkeel.dev/examples/search/match"
)

func main() { newCommand(new(config)).Main() }

func newCommand(cfg *config) command.Command {
	return command.Command{
		Name: "search", Addr: "127.0.0.1:5000", Flags: cfg.register, Check: cfg.check, Listen: cfg.serve,
	}
}

type config struct {
	mode     string
	ttl      time.Duration // of a feed's copy
	refresh  string
	given    string // feeds
	recorder record.Flags

	match  match.Func
	feeds  map[string]string // URLs by name; nil: the samples
	locked bool
}

func (c *config) register(fs *flag.FlagSet) {
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
