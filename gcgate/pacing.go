package gcgate

import "sync"

// pacing is the collector, whose settings Stop can give back at any time, also while the
// control goroutine hangs in the user's code: after that nobody changes them through it.
type pacing struct {
	collector
	limit int64 // the memory limit of before

	mu      sync.Mutex
	percent int  // GOGC of before; guarded by mu
	changed bool // GOGC was changed; guarded by mu
	over    bool // guarded by mu
}

func newPacing(gc collector) *pacing { return &pacing{collector: gc, limit: gc.setLimit(-1)} }

func (p *pacing) setPercent(percent int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return p.percent
	}
	old := p.collector.setPercent(percent)
	if !p.changed {
		p.changed, p.percent = true, old
	}
	return old
}

func (p *pacing) setLimit(bytes int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return p.limit
	}
	return p.collector.setLimit(bytes)
}

// giveBack restores what was there before, once and for all.
func (p *pacing) giveBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.over = true
	if p.changed {
		p.collector.setPercent(p.percent)
	}
	p.collector.setLimit(p.limit)
}
