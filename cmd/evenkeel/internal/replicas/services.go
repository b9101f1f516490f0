package replicas

import (
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// NewServices returns a view of several services, for one report. Each name is of a replica of the
// service next to it. The first service is the one whose slow requests are explained.
func NewServices(a *cli.App, services, names []string) (*View, error) {
	v, err := New(a, names, true)
	if err != nil {
		return nil, err
	}
	for i := range v.replicas {
		r := &v.replicas[i]
		r.service, r.kept.joins = services[i], true
		if !slices.Contains(v.services, r.service) {
			v.services = append(v.services, r.service)
		}
	}
	return v, nil
}

// merge adds up the answers of replicas, for each service.
func (v *View) merge(answers []answer) (*merged, error) {
	if v.services == nil {
		return merge(answers)
	}
	for i, a := range answers {
		for _, b := range answers[:i] {
			if a.service != b.service && a.err == nil && b.err == nil && a.history.Differs(b.history) != nil {
				return nil, fmt.Errorf("%s and %s are the same process, so it cannot be both %s and %s; name each "+
					"process once", b.name, a.name, b.service, a.service)
			}
		}
	}
	var first *merged
	for _, name := range v.services {
		m, err := merge(slices.DeleteFunc(slices.Clone(answers), func(a answer) bool { return a.service != name }))
		m.service = name
		switch {
		case first == nil && err != nil:
			return nil, err
		case first == nil:
			first = m
		default:
			first.missing = append(first.missing, m.missing...)
			m.missing = nil
			first.others = append(first.others, m)
		}
	}
	return first, nil
}

// sentence is what a report of replicas or of a service begins with.
func (m *merged) sentence(since time.Time) string {
	switch {
	case m.service == "":
		return m.history.Sentence(since)
	case m.answered == 0:
		return m.service + ": the replicas do not answer"
	}
	return m.history.SentenceOf(m.service, since)
}

// joined says how many requests are joined with those of other services, or "".
func (m *merged) joined(since time.Time) string {
	joined, open := uint64(0), uint64(0)
	for _, s := range m.history.Summaries(since) {
		switch {
		case s.Key.Services != "":
			joined += s.Requests
		case s.Key.Cause == reqtrace.CauseNetwork:
			open += s.Requests
		}
	}
	if m.service == "" || joined+open == 0 {
		return ""
	}
	text := "joined with other services: " + textfmt.Plural(int(joined), "request")
	if open > 0 {
		text += fmt.Sprintf("; not joined: %s that waited for the network", textfmt.Count(float64(open)))
	}
	if joined == 0 && len(m.others) > 0 {
		text += " (are the calls marked by region.Transport?)"
	}
	return text
}

type jsonServices struct {
	Services []jsonService `json:"services"`
}

type jsonService struct {
	Service  string           `json:"service"`
	Replicas int              `json:"replicas"`
	Answered int              `json:"answered"`
	History  *history.History `json:"history"`
}

// json returns what -json prints.
func (m *merged) json() any {
	if m.service == "" {
		return m.history
	}
	var j jsonServices
	for _, s := range append([]*merged{m}, m.others...) {
		j.Services = append(j.Services, jsonService{s.service, s.all, s.answered, s.history})
	}
	return j
}
