package recorder

import (
	"time"

	"evenkeel.dev/internal/history"
)

const (
	newEach  = 5
	maxKnown = 4096
)

// news decides which causes the log calls new. Each cause is logged once.
type news struct {
	store  *history.Store
	known  map[history.Key]bool // causes that are not new any more, without their class
	judged map[history.Key]bool // causes of the snapshot being analysed
	since  time.Time
	told   int // in this hour
}

func newNews(s *history.Store) news {
	n := news{store: s, known: map[history.Key]bool{}, judged: map[history.Key]bool{}}
	for _, s := range s.Snapshot().Summaries(time.Time{}) {
		s.Key.Class = ""
		n.known[s.Key] = true
	}
	return n
}

func (n *news) isNew(k history.Key) bool {
	k.Class = ""
	if n.known[k] || n.judged[k] || len(n.known) >= maxKnown {
		return false
	}
	n.judged[k] = true
	if !n.store.New(k) {
		return false
	}
	if now := time.Now(); now.Sub(n.since) >= time.Hour {
		n.since, n.told = now, 0
	}
	if n.told == newEach {
		return false
	}
	n.told++
	n.known[k] = true
	return true
}
