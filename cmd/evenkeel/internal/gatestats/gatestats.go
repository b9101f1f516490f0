// Package gatestats reads gate statistics from status pages.
package gatestats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/internal/textfmt"
)

const (
	statsTimeout = 5 * time.Second
	maxBytes     = 1 << 20
)

// Stats has the fields of gcgate.Stats and httpgate.Process that this command reads.
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
		Holding            int
		HeldUpBy           string // "": not held up
		HeldUpFor          time.Duration
		Replicas, Turns    int
		Load               float64
		LongestWait, Spare time.Duration
	}
	Process struct { // zero: another page
		CPU, Collector time.Duration
		Cycles         uint64
		Procs          int
	}

	At time.Time
}

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

func (s *Stats) Collected() (n uint64) {
	for _, c := range s.Collections {
		n += c
	}
	return n
}

func (s *Stats) IsOfLaterProcess(last *Stats) bool {
	return s.Entered < last.Entered || s.Allocated < last.Allocated || s.Collected() < last.Collected() ||
		s.WithoutTurn < last.WithoutTurn || s.LostTurns < last.LostTurns || s.Escaped < last.Escaped ||
		s.IgnoredDrains < last.IgnoredDrains
}

// MemoryLimit is in bytes, or 0 for no limit.
func (s *Stats) MemoryLimit() float64 {
	if s.Limit >= math.MaxInt64 {
		return 0
	}
	return float64(s.Limit)
}

func NewClient() *http.Client { return fetch.NewClient(statsTimeout, nil) }

// Fetch reads the statistics from a page, or from a member of its JSON object.
func Fetch(ctx context.Context, c *http.Client, url string) (*Stats, error) {
	body, err := fetch.Page(ctx, c, url, maxBytes, "it must be a status page, as httpgate.Status serves it")
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

var errNoStats = errors.New("no gate's statistics in the answer; serve them with httpgate.Status")

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
			return nil, fmt.Errorf("cannot read the gate's statistics: %w; is the service newer than evenkeel?", err)
		}
		s.Policy, s.State = textfmt.Visible(s.Policy, 40), textfmt.Visible(s.State, 40)
		s.Turn.HeldUpBy = textfmt.Visible(s.Turn.HeldUpBy, 500)
		return s, nil
	}
	return nil, errNoStats
}
