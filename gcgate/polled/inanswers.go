package polled

import "time"

// isQuiet reports whether no request has entered for quietFor, and looks. mu is held.
func (p *Peers) isQuiet(now time.Time) bool {
	if p.proof.counter == nil {
		return false
	}
	if _, n := p.proof.counter.Requests(); n != p.entered || p.quiet.IsZero() {
		p.entered, p.quiet = n, now
	}
	return now.Sub(p.quiet) >= quietFor
}

// markAllOut notes, if requests are counted, that each peer may have this process out. It may hear
// of the drain in an answer from now on, also of one that is not confirmed.
func (p *Peers) markAllOut() {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.peers {
		q.out = q.out || p.proof.counter != nil && !q.isExpired(now)
	}
}

// anyRegular reports whether any peer polls regularly. mu is held.
func (p *Peers) anyRegular(now time.Time) bool {
	for _, q := range p.peers {
		if q.isRegular(now) {
			return true
		}
	}
	return false
}
