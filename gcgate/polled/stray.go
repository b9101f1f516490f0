package polled

// isStray reports whether q, at the end of a drain that takes so many answers, was no peer to act
// on it: it polled too few times, and does not poll regularly, as the curl of a person or of a
// container's own check. A balancer that had just appeared polls again soon.
func (q *peer) isStray(answers int) bool {
	return q.out && !q.recurs() && q.says == SaysNothing && q.told < answers
}

// unstray has q, which polls, count as a peer where it does so time and again: a balancer that had
// just appeared. mu is held.
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
