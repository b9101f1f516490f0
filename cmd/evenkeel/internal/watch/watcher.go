// Package watch shows replicas behind gates, and what needs an operator.
package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/gatestats"
)

const (
	patience = 2 * time.Second // for an answer; a collection may take as long
	onceLook = 500 * time.Millisecond
	// leftLooks in a row raise a warning.
	leftLooks  = 3
	keptRounds = 5
)

// Watcher shows replicas. One goroutine owns it.
type Watcher struct {
	app    *cli.App
	client *http.Client
	AsJSON bool
	Once   bool

	replicas []*replica
	crowded  int    // looks with more replicas drained than turns
	heldUp   string // last reason; "": none
	rounds   []string
	screen   cli.Screen
}

// New returns a Watcher of status pages.
func New(a *cli.App, pages []string) (*Watcher, error) {
	w := &Watcher{app: a, screen: cli.Screen{App: a}, client: gatestats.NewClient()}
	w.client.Timeout = patience
	for _, name := range pages {
		u, err := fetch.ParseURL(name)
		if err != nil {
			return nil, err
		}
		w.replicas = append(w.replicas, &replica{URL: u.String(), host: fetch.Address(u)})
	}
	return w, nil
}

type replica struct {
	URL   string           `json:"url"`
	Error string           `json:"error,omitempty"`
	Stats *gatestats.Stats `json:"stats,omitempty"`
	host  string
	first *gatestats.Stats // at the first answer; zeros after a restart
	last  *gatestats.Stats
}

// since returns figures since the first look, or with once since the gate's start.
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

func (r *replica) outOfRotation() bool {
	return r.Stats != nil && slices.Contains([]string{"announcing", "draining", "collecting", "readying"},
		r.Stats.State)
}

func (r *replica) turn() string {
	switch {
	case r.Stats == nil || r.Stats.Turn.Turns == 0:
		return "-"
	case r.Stats.Turn.Holding > 0:
		return "has it" // also briefly after it is back
	case r.outOfRotation():
		return "without"
	case r.Stats.State == "wanting":
		return "waits"
	}
	return ""
}

// Run looks until ctx ends, or once.
func (w *Watcher) Run(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		w.look(ctx)
		for n := 1; w.Once && w.crowded > 0 && n < leftLooks && ctx.Err() == nil; n++ {
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

func (w *Watcher) failed() error {
	var errs []error
	for _, r := range w.replicas {
		if r.Error != "" {
			errs = append(errs, errors.New(r.Error))
		}
	}
	return errors.Join(errs...)
}

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
	if drained, turns := w.drained(); turns > 0 && drained > turns {
		w.crowded++
	} else {
		w.crowded = 0
	}
}

func (w *Watcher) noteHeldUp() {
	said := ""
	for _, r := range w.replicas {
		if r.Stats != nil && r.Stats.Turn.HeldUpBy != "" && (said == "" || r.Stats.Turn.Holding > 0) {
			said = r.Stats.At.Format(time.TimeOnly) + ": " + r.host + " " + r.heldUp()
		}
	}
	w.heldUp = cmp.Or(said, w.heldUp)
}

func (w *Watcher) drained() (drained, turns int) {
	for _, r := range w.replicas {
		if r.Stats != nil {
			turns = max(turns, r.Stats.Turn.Turns)
		}
		if r.outOfRotation() {
			drained++
		}
	}
	return drained, turns
}

func (w *Watcher) show() error {
	if w.AsJSON {
		return json.NewEncoder(w.app.Stdout).Encode(struct {
			Time     time.Time  `json:"time"`
			Replicas []*replica `json:"replicas"`
			Warnings []string   `json:"warnings,omitempty"`
		}{time.Now(), w.replicas, w.warnings()})
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
