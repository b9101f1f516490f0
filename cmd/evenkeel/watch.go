package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
)

const watchHelp = `
evenkeel watch [flags] URL...

Shows replicas behind gates (package gcgate), live: state, heap against its thresholds, who has the
turn, requests that met a collection, the last collections, and what needs an operator: since the
first look, and with -once since the gate's start. Each URL is a replica's own status page, as
httpgate.Status serves it: not one behind a balancer.

  evenkeel watch http://10.0.0.7:8080/debug/gate http://10.0.0.8:8080/debug/gate
  evenkeel watch -once URL...                 one look, for a script
  evenkeel watch -json URL...                 an object a line, each second
  evenkeel watch -haproxy 127.0.0.1:9199,be URL...
                                              and names servers of that backend that are in DRAIN
                                              though nobody is away: left behind by a process that
                                              was killed

With -once it ends with exit code 1 where a replica does not answer.
`

const (
	watchPatience = 2 * time.Second        // for an answer: a replica that collects may take as long
	onceLook      = 500 * time.Millisecond // between the looks of -once, where it takes several
	leftLooks     = 3                      // so many looks in a row make a server one that is left behind, and more replicas away than turns no hand-over between two answers
	keptRounds    = 5                      // collections that are shown
)

func runWatch(ctx context.Context, a *cli.App, args []string) error {
	interval := cli.Period(time.Second)
	fs := a.NewFlags("watch", watchHelp)
	once := fs.Bool("once", false, "look once, and end")
	asJSON := fs.Bool("json", false, "print each look as a line of JSON")
	balancer := fs.String("haproxy", "", "ask HAProxy's stats socket too, as `ADDR,BACKEND`: 127.0.0.1:9199,be or unix:/run/haproxy.sock,be")
	fs.Var(&interval, "every", "look again after this `time`")
	names, rest, err := a.Parse(fs, args)
	if err != nil {
		return err
	}
	names = append(names, rest...)
	w := &watcher{app: a, screen: cli.Screen{App: a}, client: newStatsClient(), asJSON: *asJSON, once: *once}
	w.client.Timeout = watchPatience
	switch {
	case len(names) == 0:
		return a.Wrong(fs, "no URL; name the status page of each replica, such as http://10.0.0.7:8080/debug/gate")
	case interval < cli.Period(100*time.Millisecond):
		return a.Wrong(fs, "-every %v is too short; write at least 100ms", &interval)
	}
	for _, name := range names {
		u, err := statusURL(name)
		if err != nil {
			return a.Wrong(fs, "%v", err)
		}
		w.replicas = append(w.replicas, &watchedReplica{URL: u, host: hostOf(u)})
	}
	if *balancer != "" {
		if w.balancer, err = parseStatsSocket(*balancer); err != nil {
			return a.Wrong(fs, "-haproxy: %v", err)
		}
	}
	ctx, release := a.Catch(ctx)
	defer release()
	return w.run(ctx, time.Duration(interval))
}

// watcher shows replicas. It is owned by one goroutine.
type watcher struct {
	app      *cli.App
	client   *http.Client
	balancer *statsSocket // nil: none
	asJSON   bool
	once     bool

	replicas []*watchedReplica
	servers  []drainedServer // of the balancer, at the last look
	refused  error           // of the balancer, at the last look
	crowded  int             // looks in a row at which more replicas were away than there are turns
	heldUp   string          // who held the turn up last; "": nobody did since the first look
	rounds   []string        // the last collections
	screen   cli.Screen
}

// watchedReplica is a replica, and what its page said at the last look.
type watchedReplica struct {
	URL   string     `json:"url"`
	Error string     `json:"error,omitempty"`
	Stats *gateStats `json:"stats,omitempty"` // nil: it did not answer
	host  string
	first *gateStats // at the first look that it answered; of zeros, once it was started again
	last  *gateStats // at the last look that it answered
}

// since returns the figures of what happened while this watches, from zero on where it looks only once.
func (r *watchedReplica) since(once bool) gateStats {
	s := *r.Stats
	if !once && r.first != nil {
		s.WithoutTurn -= r.first.WithoutTurn
		s.LostTurns -= r.first.LostTurns
		s.Escaped -= r.first.Escaped
		s.Unheeded -= r.first.Unheeded
	}
	return s
}

// remember keeps the first look. A replica that was started again counts from zero.
func (r *watchedReplica) remember() {
	switch s := r.Stats; {
	case s == nil:
		return
	case r.first == nil:
		r.first = s
	case s.isOfLaterProcess(r.last):
		r.first = new(gateStats)
	}
	r.last = r.Stats
}

// isOfLaterProcess reports whether a counter has gone back since last.
func (s *gateStats) isOfLaterProcess(last *gateStats) bool {
	return s.Entered < last.Entered || s.Allocated < last.Allocated || s.collected() < last.collected() ||
		s.WithoutTurn < last.WithoutTurn || s.LostTurns < last.LostTurns || s.Escaped < last.Escaped || s.Unheeded < last.Unheeded
}

// isAway reports whether the replica has its peers send requests elsewhere.
func (r *watchedReplica) isAway() bool {
	return r.Stats != nil && slices.Contains([]string{"announcing", "draining", "collecting", "readying"}, r.Stats.State)
}

// turn says what the replica has to do with the turn.
func (r *watchedReplica) turn() string {
	switch {
	case r.Stats == nil || r.Stats.Turn.Turns == 0:
		return "-"
	case r.holds():
		return "has it" // also for a time after it is back
	case r.isAway():
		return "without"
	case r.Stats.State == "wanting":
		return "waits"
	}
	return ""
}

// holds reports whether the replica holds a turn. One that does not say so holds it while it is away, as far as can be told.
func (r *watchedReplica) holds() bool {
	if h := r.Stats.Turn.Holding; h != nil {
		return *h > 0
	}
	return r.isAway()
}

// run looks until ctx ends, or once.
func (w *watcher) run(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		w.look(ctx)
		for n := 1; w.once && (w.balancer != nil || w.crowded > 0) && n < leftLooks && ctx.Err() == nil; n++ {
			time.Sleep(onceLook)
			w.look(ctx)
		}
		if ctx.Err() != nil {
			if w.once {
				return cli.ErrInterrupted
			}
			return nil
		}
		if err := w.show(); err != nil {
			return err
		}
		if w.once {
			return w.failed()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// failed says what a script must know of the one look: who did not answer.
func (w *watcher) failed() error {
	var errs []error
	for _, r := range w.replicas {
		if r.Error != "" {
			errs = append(errs, errors.New(r.Error))
		}
	}
	return errors.Join(append(errs, w.refused)...)
}

// look asks all replicas at once, and the balancer.
func (w *watcher) look(ctx context.Context) {
	before := make([]*gateStats, len(w.replicas))
	var asked sync.WaitGroup
	for i, r := range w.replicas {
		before[i] = r.Stats
		asked.Go(func() {
			s, err := fetchStats(ctx, w.client, r.URL)
			if r.Stats, r.Error = s, ""; err != nil {
				r.Error = err.Error()
			}
		})
	}
	asked.Wait()
	for i, r := range w.replicas {
		r.remember()
		w.rounds = append(w.rounds, roundsBetween(r.host, before[i], r.Stats)...)
	}
	w.noteHeldUp()
	w.rounds = w.rounds[max(len(w.rounds)-keptRounds, 0):]
	if away, turns := w.away(); turns > 0 && away > turns {
		w.crowded++
	} else {
		w.crowded = 0
	}
	if w.balancer == nil {
		return
	}
	var servers []drainedServer
	if servers, w.refused = w.balancer.drained(ctx); w.refused != nil {
		w.servers = nil
		return
	}
	for i := range servers {
		w.judge(&servers[i])
	}
	w.servers = servers
}

// noteHeldUp remembers who held the turn up, by what the holder says if it is watched.
func (w *watcher) noteHeldUp() {
	said := ""
	for _, r := range w.replicas {
		if r.Stats != nil && r.Stats.Turn.HeldUpBy != "" && (said == "" || r.holds()) {
			said = r.Stats.at.Format(time.TimeOnly) + ": " + r.host + " " + r.heldUp()
		}
	}
	w.heldUp = cmp.Or(said, w.heldUp)
}

// away returns how many replicas are away, and how many may be.
func (w *watcher) away() (away, turns int) {
	for _, r := range w.replicas {
		if r.Stats != nil {
			turns = max(turns, r.Stats.Turn.Turns)
		}
		if r.isAway() {
			away++
		}
	}
	return away, turns
}

// judge says whether a server in DRAIN was left behind. The replica at its address knows; where none of those watched has the address,
// as behind a translation of addresses, nobody may be away.
func (w *watcher) judge(s *drainedServer) {
	at := slices.IndexFunc(w.replicas, func(r *watchedReplica) bool { return r.host == s.Addr })
	anybody := slices.ContainsFunc(w.replicas, (*watchedReplica).isAway)
	if at >= 0 && w.replicas[at].isAway() || at < 0 && anybody {
		return
	}
	s.looks = 1
	if i := slices.IndexFunc(w.servers, func(old drainedServer) bool { return old.Server == s.Server }); i >= 0 {
		s.looks += w.servers[i].looks
	}
	s.LeftBehind = s.looks >= leftLooks
}

// show prints the last look.
func (w *watcher) show() error {
	if w.asJSON {
		return json.NewEncoder(w.app.Stdout).Encode(struct {
			Time     time.Time         `json:"time"`
			Replicas []*watchedReplica `json:"replicas"`
			Servers  []drainedServer   `json:"drained_servers,omitempty"`
			Warnings []string          `json:"warnings,omitempty"`
		}{time.Now(), w.replicas, w.servers, w.warnings()})
	}
	text := w.text(w.app.Style)
	if w.once {
		_, err := io.WriteString(w.app.Stdout, text)
		return err
	}
	if !w.app.View {
		text += "\n"
	}
	return w.screen.Draw(text)
}

// hostOf returns host:port of a URL.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	if u.Port() == "" {
		return u.Hostname() + map[bool]string{true: ":443", false: ":80"}[u.Scheme == "https"]
	}
	return u.Host
}
