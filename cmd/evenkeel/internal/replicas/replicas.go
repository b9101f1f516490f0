// Package replicas adds what the recorders of replicas say about slow requests.
package replicas

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/textfmt"
)

const (
	patience        = 10 * time.Second
	connect         = 5 * time.Second
	maxHistoryBytes = 256 << 20
	atOnce          = 16
)

const recorderWanted = `is its recorder there (debug.Handle("` + traces.RecorderPath + `", rec))?`

type replica struct {
	name string
	url  string // of its JSON; "": a file
	kept *findings

	service string // "": all are replicas of one
}

type answer struct {
	replica
	history *history.History
	failed  []string
	err     error
}

// parse reads an operand, which may be a file if files is set.
func parse(name string, files bool) (replica, error) {
	if !strings.HasPrefix(name, "http://") && !strings.HasPrefix(name, "https://") {
		if _, err := os.Stat(name); files && err == nil {
			return replica{name: name, kept: &findings{}}, nil
		}
		what := "no URL of a recorder"
		if files {
			what = "neither a file nor a URL of a recorder"
		}
		return replica{}, fmt.Errorf("%q is %s; write it as http://HOST:PORT%s", name, what, traces.RecorderPath)
	}
	u, err := url.Parse(name)
	if err != nil || u.Hostname() == "" {
		return replica{}, fmt.Errorf("%q is no URL of a recorder; write it as http://HOST:PORT%s", name,
			traces.RecorderPath)
	}
	switch {
	case u.Path == "" || u.Path == "/":
		u.Path = traces.RecorderPath + "json"
	case !strings.HasSuffix(u.Path, "/json"):
		u = u.JoinPath("json")
	}
	u.Fragment = ""
	return replica{name: name, url: u.String(), kept: &findings{}}, nil
}

func parseAll(names []string, files bool) ([]replica, error) {
	var list []replica
	for _, n := range names {
		r, err := parse(n, files)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(o replica) bool {
			return o.url == r.url && (r.url != "" || o.name == r.name)
		}) {
			return nil, fmt.Errorf("%s is there twice: name each replica once", n)
		}
		list = append(list, r)
	}
	return list, nil
}

func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSHandshakeTimeout, t.MaxIdleConnsPerHost = connect, 1
	return &http.Client{Transport: t, Timeout: patience}
}

func (v *View) ask(ctx context.Context) []answer {
	answers := make([]answer, len(v.replicas))
	n := newCounter(v.app)
	defer n.end()
	since := begin(v.Since, time.Now())
	turns := make(chan bool, atOnce)
	var wg sync.WaitGroup
	for i, r := range v.replicas {
		wg.Go(func() {
			turns <- true
			defer func() { <-turns }()
			h, err := r.history(ctx, v.client, v.Since, since, n)
			answers[i] = answer{r, h, r.kept.failed, err}
		})
	}
	wg.Wait()
	if v.services != nil {
		join(answers)
	}
	for _, a := range answers {
		if a.err == nil && a.kept.store != nil {
			a.history.AddFound(a.kept.store.Since(since))
		}
	}
	return answers
}

func (r *replica) history(
	ctx context.Context, c *http.Client, last time.Duration, since time.Time, n *counter,
) (*history.History, error) {
	if r.url != "" {
		u, err := url.Parse(r.url)
		if err != nil {
			return nil, err
		}
		return r.kept.history(ctx, served{c, u, last}, since, n)
	}
	if fi, err := os.Stat(r.name); err == nil && fi.IsDir() {
		return r.kept.history(ctx, folder(r.name), since, n)
	}
	h, _, err := readHistory(r.name)
	return h, err
}

func readHistory(name string) (h *history.History, source string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	b, err := fetch.AtMost(f, maxHistoryBytes)
	if err != nil {
		return nil, "", err
	}
	return parseHistory(b)
}

// parseHistory also returns the processes that JSON names.
func parseHistory(b []byte) (h *history.History, source string, err error) {
	if text := bytes.TrimSpace(b); len(text) == 0 || text[0] == '{' || text[0] == '<' {
		var names struct {
			Sources  []string
			Services []any
		}
		if err := json.Unmarshal(b, &names); err == nil && names.Services != nil {
			return nil, "", errors.New("it is a report over services; name their recorders, or the history of one")
		}
		h = &history.History{}
		err := json.Unmarshal(b, h)
		return h, strings.Join(names.Sources, " "), err
	}
	h, _, _, err = history.ReadLog(b)
	return h, "", err
}

type merged struct {
	history  *history.History
	answered int
	all      int
	missing  []string // and why, safe for a terminal

	service string // "": all are replicas of one
	others  []*merged
}

func merge(answers []answer) (*merged, error) {
	m := &merged{history: &history.History{}, all: len(answers)}
	for _, a := range answers {
		err := a.err
		if err == nil {
			if err = m.history.Merge(a.history); errors.Is(err, history.ErrSame) {
				err = errors.New("it is the same process as another one")
			}
		}
		if err != nil {
			m.missing = append(m.missing, textfmt.Printable(a.name+": "+err.Error()))
			continue
		}
		for _, why := range a.failed {
			m.missing = append(m.missing, textfmt.Printable(a.name+": "+why))
		}
		m.answered++
	}
	if m.answered == 0 {
		return m, errors.New(strings.Join(m.missing, "\n  "))
	}
	return m, nil
}
