package polled

import (
	"net/netip"
	"time"
)

type peer struct {
	begun [pollsKept]time.Time // a ring
	n     int
	gap   time.Duration

	// Since the state last changed.
	answered int
	acted    int // of these, written when the last poll began
	says     Says
	agree    int // polls in a row that say the same

	out        bool      // it may not have this process back
	casual     bool      // not a balancer (polledCasually)
	due        time.Time // should be back by the answers; zero: not yet
	entered    uint32
	quietUntil time.Time
}

func (q *peer) begin(now time.Time, says Says, draining bool) {
	if q.n > 0 {
		q.gap = now.Sub(q.last())
	}
	q.begun[q.n%pollsKept] = now
	q.n++
	q.acted = q.answered
	q.says = says
	if says == SaysDown && draining || says == SaysUp && !draining {
		q.agree++
	} else {
		q.agree = 0
	}
	q.out = q.out || draining
}

func (q *peer) last() time.Time { return q.begun[(q.n-1)%pollsKept] }

// isExpired reports whether q will most likely not poll again.
func (q *peer) isExpired(now time.Time) bool {
	silent := now.Sub(q.last())
	if q.casual {
		return silent > expireAfter
	}
	return silent > forgetAfter || !q.out && silent > max(expireAfter, 3*q.gap)
}

func (q *peer) recurs() bool { return q.n > 1 && q.gap <= forgetAfter }

func (q *peer) isRegular(now time.Time) bool { return q.recurs() && !q.isExpired(now) }

// polledCasually reports whether q, after a drain, is a curl and not a balancer.
func (q *peer) polledCasually(answers int) bool {
	return q.out && !q.recurs() && q.says == SaysNothing && q.answered < answers
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

func (q *peer) hasActed(d Demand) bool {
	return q.says == SaysNothing && q.acted >= d.answers() || q.says == SaysDown && q.agree >= d.agreeing()
}

func peerName(a netip.Addr) string {
	if !a.IsValid() {
		return "the Unix socket"
	}
	return a.String()
}
