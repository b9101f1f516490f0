// Package gatestats reads the statistics of a gate from a replica's status page.
package gatestats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/internal/textfmt"
)

const (
	statsTimeout = 5 * time.Second
	MaxBytes     = 1 << 20
)

// Stats is what a status page says of a gate: the fields of gcgate.Stats that are read here, by
// their names there, and of its process. This command controls no collector, so it does not import
// the package.
type Stats struct {
	Policy, State string

	Collections map[string]uint64
	Escaped     uint64
	Phases      map[string]Duration

	Entered, Overlapped, OverlappedOther, Stragglers, Refused uint64
	WithoutTurn, LostTurns, IgnoredDrains                     uint64

	InFlight                         int
	Live, Heap, Trigger, Hard, Limit uint64
	Allocated                        uint64
	Expected                         time.Duration
	Turn                             struct {
		Held               Duration
		Holding            *int   // nil: the service is older than this figure
		HeldUpBy           string // "": nobody, or the service is older than this figure
		HeldUpFor          time.Duration
		Replicas, Turns    int
		Load               float64
		LongestWait, Spare time.Duration
	}
	Advice  string
	Process struct { // httpgate.Process; zero: the page is another, or older
		CPU, Collector time.Duration
		Cycles         uint64
		Procs          int
	}

	At time.Time // when it was read; not in JSON
}

// Duration is a gcgate.Duration.
type Duration struct {
	Count      uint64
	Total, Max time.Duration
}

func (d Duration) Mean() time.Duration {
	if d.Count == 0 {
		return 0
	}
	return d.Total / time.Duration(d.Count)
}

// Collected is how many collections the gate has made.
func (s *Stats) Collected() (n uint64) {
	for _, c := range s.Collections {
		n += c
	}
	return n
}

// IsOfLaterProcess reports whether a counter has gone back since last.
func (s *Stats) IsOfLaterProcess(last *Stats) bool {
	return s.Entered < last.Entered || s.Allocated < last.Allocated || s.Collected() < last.Collected() ||
		s.WithoutTurn < last.WithoutTurn || s.LostTurns < last.LostTurns || s.Escaped < last.Escaped ||
		s.IgnoredDrains < last.IgnoredDrains
}

// MemoryLimit is the memory limit in bytes, 0 without one.
func (s *Stats) MemoryLimit() float64 {
	if s.Limit >= math.MaxInt64 {
		return 0
	}
	return float64(s.Limit)
}

// URL makes a URL of what a user writes: host:port stands for the status page at its root.
func URL(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", err
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%s: a status page's URL begins with http:// or https://", text)
	case u.Host == "":
		return "", fmt.Errorf("%s names no host: write http://HOST:PORT/PATH", text)
	}
	return u.String(), nil
}

// NewClient returns a client that keeps no connection open: a replica counts none of ours.
func NewClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: statsTimeout}
}

// Fetch reads the statistics of a gate, which may be a member of what the page says, too.
func Fetch(ctx context.Context, c *http.Client, url string) (*Stats, error) {
	body, err := fetch.Page(ctx, c, url, MaxBytes, "it must be a status page, as httpgate.Status serves it")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	s, err := parseStats(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	s.At = time.Now()
	return s, nil
}

var errNoStats = errors.New("no gate's statistics in the answer: serve them with httpgate.Status, or gcgate's Stats " +
	"as JSON")

// parseStats finds the statistics in a JSON text: all of it, or a member of its object.
func parseStats(text []byte) (*Stats, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, errNoStats
	}
	for _, object := range slices.AppendSeq([]json.RawMessage{text}, maps.Values(members)) {
		var is map[string]json.RawMessage
		if json.Unmarshal(object, &is) != nil || is["State"] == nil || is["Trigger"] == nil {
			continue
		}
		s := new(Stats)
		if err := json.Unmarshal(object, s); err != nil {
			return nil, fmt.Errorf("statistics of a gate that cannot be read: %w; is this evenkeel as new as the "+
				"service's?", err)
		}
		s.Policy, s.State, s.Advice = textfmt.Visible(s.Policy, 40), textfmt.Visible(s.State, 40),
			textfmt.Visible(s.Advice, 500)
		s.Turn.HeldUpBy = textfmt.Visible(s.Turn.HeldUpBy, 500)
		return s, nil
	}
	return nil, errNoStats
}
