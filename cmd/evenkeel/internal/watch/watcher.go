// Package watch shows replicas behind gates, and names what needs an operator.
package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/gatestats"
)

const (
	patience = 2 * time.Second        // for an answer: a replica that collects may take as long
	onceLook = 500 * time.Millisecond // between the looks of -once, where it takes several
	// so many looks in a row make a server one that is left behind, and more replicas away than
	// turns no hand-over between two answers
	leftLooks  = 3
	keptRounds = 5 // collections that are shown
)

// Watcher shows replicas. It is owned by one goroutine.
type Watcher struct {
	app      *cli.App
	client   *http.Client
	balancer *haproxy // nil: none
	AsJSON   bool
	Once     bool

	replicas []*replica
	servers  []drainedServer // of the balancer, at the last look
	refused  error           // of the balancer, at the last look
	crowded  int             // looks in a row at which more replicas were away than there are turns
	heldUp   string          // who held the turn up last; "": nobody did since the first look
	rounds   []string        // the last collections
	screen   cli.Screen
}

// New returns one of the replicas with these status pages; balancer is what -haproxy says, "" for
// none.
func New(a *cli.App, pages []string, balancer string) (*Watcher, error) {
	w := &Watcher{app: a, screen: cli.Screen{App: a}, client: gatestats.NewClient()}
	w.client.Timeout = patience
	for _, name := range pages {
		u, err := gatestats.URL(name)
		if err != nil {
			return nil, err
		}
		w.replicas = append(w.replicas, &replica{URL: u, host: hostOf(u)})
	}
	if balancer != "" {
		var err error
		if w.balancer, err = parseHAProxy(balancer); err != nil {
			return nil, fmt.Errorf("-haproxy: %w", err)
		}
	}
	return w, nil
}

// replica is a replica, and what its page said at the last look.
type replica struct {
	URL   string           `json:"url"`
	Error string           `json:"error,omitempty"`
	Stats *gatestats.Stats `json:"stats,omitempty"` // nil: it did not answer
	host  string
	first *gatestats.Stats // at the first look that it answered; of zeros, once it was started again
	last  *gatestats.Stats // at the last look that it answered
}

// since returns the figures of what happened while this watches, from zero on where it looks only
// once.
func (r *replica) since(once bool) gatestats.Stats {
	s := *r.Stats
	if !once && r.first != nil {
		s.WithoutTurn -= r.first.WithoutTurn
		s.LostTurns -= r.first.LostTurns
		s.Escaped -= r.first.Escaped
		s.IgnoredDrains -= r.first.IgnoredDrains
	}
	return s
}

// remember keeps the first look. A replica that was started again counts from zero.
func (r *replica) remember() {
	switch s := r.Stats; {
	case s == nil:
		return
	case r.first == nil:
		r.first = s
	case s.IsOfLaterProcess(r.last):
		r.first = new(gatestats.Stats)
	}
	r.last = r.Stats
}

// isAway reports whether the replica has its peers send requests elsewhere.
func (r *replica) isAway() bool {
	return r.Stats != nil && slices.Contains([]string{"announcing", "draining", "collecting", "readying"},
		r.Stats.State)
}

// turn says what the replica has to do with the turn.
func (r *replica) turn() string {
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

// holds reports whether the replica holds a turn. One that does not say so holds it while it is
// away, as far as can be told.
func (r *replica) holds() bool {
	if h := r.Stats.Turn.Holding; h != nil {
		return *h > 0
	}
	return r.isAway()
}

// Run looks until ctx ends, or once.
func (w *Watcher) Run(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		w.look(ctx)
		for n := 1; w.Once && (w.balancer != nil || w.crowded > 0) && n < leftLooks && ctx.Err() == nil; n++ {
			time.Sleep(onceLook)
			w.look(ctx)
		}
		if ctx.Err() != nil {
			if w.Once {
				return cli.ErrInterrupted
			}
			return nil
		}
		if err := w.show(); err != nil {
			return err
		}
		if w.Once {
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
func (w *Watcher) failed() error {
	var errs []error
	for _, r := range w.replicas {
		if r.Error != "" {
			errs = append(errs, errors.New(r.Error))
		}
	}
	return errors.Join(append(errs, w.refused)...)
}

// look asks all replicas at once, and the balancer.
func (w *Watcher) look(ctx context.Context) {
	before := make([]*gatestats.Stats, len(w.replicas))
	var asked sync.WaitGroup
	for i, r := range w.replicas {
		before[i] = r.Stats
		asked.Go(func() {
			s, err := gatestats.Fetch(ctx, w.client, r.URL)
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
func (w *Watcher) noteHeldUp() {
	said := ""
	for _, r := range w.replicas {
		if r.Stats != nil && r.Stats.Turn.HeldUpBy != "" && (said == "" || r.holds()) {
			said = r.Stats.At.Format(time.TimeOnly) + ": " + r.host + " " + r.heldUp()
		}
	}
	w.heldUp = cmp.Or(said, w.heldUp)
}

// away returns how many replicas are away, and how many may be.
func (w *Watcher) away() (away, turns int) {
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

// judge says whether a server in DRAIN was left behind. The replica at its address knows; where
// none of those watched has the address, as behind a translation of addresses, nobody may be away.
func (w *Watcher) judge(s *drainedServer) {
	at := slices.IndexFunc(w.replicas, func(r *replica) bool { return r.host == s.Addr })
	anybody := slices.ContainsFunc(w.replicas, (*replica).isAway)
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
func (w *Watcher) show() error {
	if w.AsJSON {
		return json.NewEncoder(w.app.Stdout).Encode(struct {
			Time     time.Time       `json:"time"`
			Replicas []*replica      `json:"replicas"`
			Servers  []drainedServer `json:"drained_servers,omitempty"`
			Warnings []string        `json:"warnings,omitempty"`
		}{time.Now(), w.replicas, w.servers, w.warnings()})
	}
	text := w.text(w.app.Style)
	if w.Once {
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
