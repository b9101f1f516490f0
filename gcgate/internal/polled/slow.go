package polled

import (
	"fmt"
	"slices"
	"time"
)

// CanConfirm returns nil if a peer polls, and all are expected to act on a drain in time.
func (p *Peers) CanConfirm(within time.Duration, d Demand) error {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	gaps := d.answers() + 1
	err := ErrNoPolls
	var slow []string
	for a, q := range p.peers {
		if !q.isRegular(now) {
			continue
		}
		switch takes := q.takes(gaps, now); {
		case d.InAnswers && p.proof.counter != nil:
			err = nil
		case takes == 0:
			slow = append(slow, fmt.Sprintf("%s has polled %d times, and how fast it acts is known after %d",
				peerName(a), q.n, min(gaps, pollsKept-1)+1))
		case takes > within:
			slow = append(slow, fmt.Sprintf("%s polls every %v, so a drain takes %v, and AnnounceTimeout is %v",
				peerName(a), (takes/time.Duration(gaps)).Round(time.Millisecond),
				takes.Round(time.Millisecond), within))
		default:
			err = nil
		}
	}
	return firstSlow(err, slow)
}

func firstSlow(err error, slow []string) error {
	if len(slow) == 0 {
		return err
	}
	return fmt.Errorf("%s: let it poll more often, every 10 ms", slices.Min(slow))
}

// takes returns how long q took for its last polls gaps apart, 0 if not known.
func (q *peer) takes(gaps int, now time.Time) time.Duration {
	n := min(gaps, pollsKept-1)
	if q.n <= n {
		return 0
	}
	closed := q.last().Sub(q.begun[(q.n-1-n)%pollsKept])
	open := now.Sub(q.begun[(q.n-n)%pollsKept])
	return max(closed, open) * time.Duration(gaps) / time.Duration(n)
}
