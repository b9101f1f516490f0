package polled

// isStray reports whether q, at the end of a drain that takes so many answers, was not a peer to
// act on it. Such a peer polled too few times and does not poll regularly, like a curl by hand or
// by a container's own check. A balancer that had just appeared polls again soon.
func (q *peer) isStray(answers int) bool {
	return q.out && !q.recurs() && q.says == SaysNothing && q.answered < answers
}

// unstray has q, which polls, count as a peer if it does so time and again, like a balancer that
// had just appeared. mu is held.
func (p *Peers) unstray(q *peer) {
	if q.stray && q.recurs() {
		q.stray = false
		if q.out {
			p.outs++
		}
	}
}

// setFall notes how many answers make a peer act on this drain.
func (p *Peers) setFall(answers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fall = answers
}
