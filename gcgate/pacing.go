package gcgate

import "sync"

// pacing is the settings of a Collector, which Stop can restore at any time, also while the control
// goroutine hangs in the user's code: after that nobody changes them through it.
type pacing struct {
	collector Collector
	limit     int64 // the memory limit of before

	mu       sync.Mutex
	off      bool // guarded by mu
	percent  int  // GOGC of before it was switched off; guarded by mu
	restored bool // guarded by mu
}

func newPacing(c Collector) *pacing { return &pacing{collector: c, limit: c.SetLimit(-1)} }

// switchOff leaves nothing but the memory limit to start a cycle.
func (p *pacing) switchOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.restored && !p.off {
		p.off, p.percent = true, p.collector.SetPercent(-1)
	}
}

// switchOn restores GOGC alone.
func (p *pacing) switchOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.switchOnLocked()
}

func (p *pacing) switchOnLocked() {
	if !p.restored && p.off {
		p.off = false
		p.collector.SetPercent(p.percent)
	}
}

// setLimit sets the memory limit.
func (p *pacing) setLimit(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.restored {
		p.collector.SetLimit(bytes)
	}
}

// restore sets all to what was there before, once and for all.
func (p *pacing) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.restored {
		return
	}
	p.switchOnLocked()
	p.collector.SetLimit(p.limit)
	p.restored = true
}
