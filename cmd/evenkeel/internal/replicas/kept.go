package replicas

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/reqtrace"
)

// A recorder keeps snapshots, and this command analyses those that it does not know, newest first.
//
//	json, snapshots ──> snapshot/ID.json, snapshot/ID ──> findings ──> history
const (
	maxKeptBytes  = 64 << 20
	maxHeadBytes  = 16 << 20
	analysisLimit = 2 * time.Minute
	traceLimit    = time.Minute
	quietAnalysis = 2 * time.Second
)

var analyses = make(chan bool, runtime.GOMAXPROCS(0))

// findings are what a replica's snapshots say. One goroutine at a time uses them.
type findings struct {
	source string // another source is another process
	store  *history.Store
	done   map[string]bool
	failed []string

	joins    bool // analysed is needed
	analysed []analysed
}

type analysed struct {
	head  history.Head
	found history.Explained
}

// addAgain adds again what was analysed, after it was changed.
func (f *findings) addAgain() {
	if f.store == nil {
		return
	}
	f.store = history.Open(history.Options{})
	for _, x := range f.analysed {
		f.store.AddKept(&x.head, &x.found)
	}
}

type keeper interface {
	history(ctx context.Context) (h *history.History, source string, err error)
	list(ctx context.Context) ([]string, error) // snapshots, oldest first
	read(ctx context.Context, name string, most int64) ([]byte, error)
}

// history returns the replica's history, to which f.store has to be added.
func (f *findings) history(ctx context.Context, k keeper, since time.Time, n *counter) (*history.History, error) {
	h, source, err := k.history(ctx)
	if err != nil {
		return nil, err
	}
	if f.store == nil || f.source != source {
		*f = findings{
			source: source, store: history.Open(history.Options{}), done: map[string]bool{}, joins: f.joins,
		}
	}
	fresh, err := f.explain(ctx, k, since, n)
	switch {
	case errors.Is(err, fs.ErrNotExist): // an older recorder has none
	case err != nil:
		return nil, err
	case fresh: // h may lack these
		if h, _, err = k.history(ctx); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// explain analyses unknown snapshots, and reports whether there were any.
func (f *findings) explain(ctx context.Context, k keeper, since time.Time, n *counter) (fresh bool, err error) {
	list, err := k.list(ctx)
	if err != nil {
		return false, err
	}
	list = slices.DeleteFunc(list, func(id string) bool {
		return f.done[id] || history.TakenAt(id).Before(since)
	})
	n.all.Add(int64(len(list)))
	ctx, cancel := context.WithTimeout(ctx, analysisLimit)
	defer cancel()
	for _, id := range slices.Backward(list) {
		err := f.explainOne(ctx, k, id)
		n.add()
		switch {
		case ctx.Err() != nil || errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			f.failed = append(f.failed, fmt.Sprintf("snapshot %s: %v", id, err))
		}
		f.done[id], fresh = true, true
	}
	return fresh, nil
}

func (f *findings) explainOne(ctx context.Context, k keeper, id string) error {
	select {
	case analyses <- true:
		defer func() { <-analyses }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	text, err := k.read(ctx, id+".json", maxHeadBytes)
	if err != nil {
		return err
	}
	var h history.Head
	if err := json.Unmarshal(text, &h); err != nil {
		return fmt.Errorf("what its analysis needs cannot be read: %w", err)
	}
	if h.Threshold <= 0 {
		return nil
	}
	trace, err := k.read(ctx, id, maxKeptBytes)
	if err != nil {
		return err
	}
	if len(h.Usual) == 0 {
		h.Usual = f.store.Usual()
	}
	h.Calls = f.joins
	e, err := h.Explain(ctx, bytes.NewReader(trace), reqtrace.Options{})
	if err != nil {
		return err
	}
	if f.joins {
		x := analysed{history.Head{Trace: h.Trace, Noted: h.Noted}, *e}
		x.found.Slow = slices.Clone(e.Slow) // AddKept changes it
		f.analysed = append(f.analysed, x)
	}
	f.store.AddKept(&h, e)
	return nil
}

type served struct {
	client *http.Client
	json   *url.URL
	since  time.Duration
}

func (s served) history(ctx context.Context) (*history.History, string, error) {
	at := *s.json
	if s.since > 0 {
		q := at.Query()
		q.Set("since", s.since.String())
		at.RawQuery = q.Encode()
	}
	b, err := fetch.Page(ctx, s.client, at.String(), maxHistoryBytes, recorderWanted)
	if err != nil {
		return nil, "", err
	}
	h, source, err := parseHistory(b)
	if err != nil {
		return nil, "", fmt.Errorf("its answer is not a recorder's (%w): %s", err, recorderWanted)
	}
	return h, source, nil
}

func (s served) list(ctx context.Context) (list []string, err error) {
	at := s.json.JoinPath("..", "snapshots")
	text, err := fetch.Page(ctx, s.client, at.String(), maxHeadBytes, recorderWanted)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
}

func (s served) read(ctx context.Context, name string, most int64) ([]byte, error) {
	patient := *s.client
	patient.Timeout = traceLimit
	return fetch.Page(ctx, &patient, s.json.JoinPath("..", "snapshot", name).String(), most, recorderWanted)
}

type folder string

func (d folder) history(context.Context) (*history.History, string, error) {
	return readHistory(filepath.Join(string(d), "history.log"))
}

func (d folder) list(context.Context) (list []string, err error) {
	heads, err := filepath.Glob(filepath.Join(string(d), "snapshots", "*.json"))
	for _, name := range heads {
		list = append(list, strings.TrimSuffix(filepath.Base(name), ".json"))
	}
	return list, err
}

func (d folder) read(_ context.Context, name string, most int64) ([]byte, error) {
	if filepath.Ext(name) != ".json" {
		name += ".trace"
	}
	f, err := os.Open(filepath.Join(string(d), "snapshots", name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return fetch.AtMost(f, most)
}

type counter struct {
	all, done atomic.Int64
	begun     time.Time
	progress  *load.Progress // nil: no terminal
}

func newCounter(a *cli.App) *counter {
	n := &counter{begun: time.Now()}
	if a.Terminal {
		n.progress = load.NewProgress(a, "")
	}
	return n
}

func (n *counter) add() {
	done := n.done.Add(1)
	if n.progress != nil && time.Since(n.begun) > quietAnalysis {
		n.progress.Say("analysing snapshots: %d of %d", done, n.all.Load())
	}
}

func (n *counter) end() {
	if n.progress != nil {
		n.progress.Clear()
	}
}
