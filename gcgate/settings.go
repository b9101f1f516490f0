package gcgate

import (
	"math"
	"sync"
)

// pacing is guarded by mu. Stop may restore the settings at any time. Then it changes nothing any
// more.
type pacing struct {
	collector Collector

	mu       sync.Mutex
	limit    int64
	set      int64 // by the program or by the gate
	off      bool
	raised   int // GOGC of the gate; 0: none
	percent  int
	put      int // by the program or by the gate
	restored bool
}

func newPacing(c Collector) *pacing {
	limit, percent := c.SetLimit(-1), c.GOGC()
	return &pacing{collector: c, limit: limit, set: limit, percent: percent, put: percent}
}

// programLimit returns the program's memory limit, and whether it changed since the last call.
func (p *pacing) programLimit() (limit int64, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.programLimitLocked()
}

func (p *pacing) programLimitLocked() (limit int64, changed bool) {
	if now := p.collector.SetLimit(-1); now != p.set {
		p.limit, p.set, changed = now, now, true
	}
	return p.limit, changed
}

// programPercent returns the program's GOGC, and whether it replaced the gate's lately.
func (p *pacing) programPercent() (percent int, overruled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.collector.GOGC(); !p.restored && now != p.put {
		overruled = p.off || p.raised != 0
		p.percent, p.put, p.raised = now, now, 0
		if p.off {
			p.setPercentLocked(-1)
		}
	}
	return p.percent, overruled
}

// setPercentLocked notes a value that the program has set since.
func (p *pacing) setPercentLocked(percent int) {
	if was := p.collector.SetPercent(percent); was != p.put {
		p.percent = was
	}
	p.put = percent
}

func (p *pacing) switchOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.restored || p.off {
		return
	}
	p.setPercentLocked(-1)
	p.off, p.raised = true, 0
}

// raise skips small changes, because each stops the world.
func (p *pacing) raise(percent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.restored || p.off || max(percent, p.raised)-min(percent, p.raised) <= p.raised/16 {
		return
	}
	p.setPercentLocked(percent)
	p.raised = percent
}

func (p *pacing) giveBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveBackLocked()
}

func (p *pacing) giveBackLocked() {
	if p.restored || !p.off && p.raised == 0 {
		return
	}
	p.off, p.raised = false, 0
	if p.setPercentLocked(p.percent); p.put != p.percent {
		p.setPercentLocked(p.percent)
	}
}

// stock is the program's GOGC, math.MaxInt if it is off.
func (p *pacing) stock() int {
	percent, _ := p.programPercent()
	if percent < 0 {
		return math.MaxInt
	}
	return percent
}

// setLimit reports whether the program has set another limit since programLimit.
func (p *pacing) setLimit(bytes int64) (overtaken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.restored {
		return false
	}
	was := p.collector.SetLimit(bytes)
	if overtaken = was != p.set; overtaken {
		p.limit = was
	}
	p.set = bytes
	return overtaken
}

func (p *pacing) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.restored {
		return
	}
	p.giveBackLocked()
	if limit, changed := p.programLimitLocked(); !changed {
		if was := p.collector.SetLimit(limit); was != p.set {
			p.collector.SetLimit(was)
		}
	}
	p.restored = true
}
