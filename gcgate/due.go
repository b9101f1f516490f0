package gcgate

// due returns why to collect now, the most pressing reason. Nothing is due while a collection marks.
func (c *control) due() (Reason, bool) {
	h := c.heap
	if !h.returned() && !h.marked {
		return 0, false
	}
	switch {
	case len(c.waiters.now()) > 0:
		return ReasonRequested, true
	case !h.inCharge:
		return 0, false
	case h.pastHard():
		return ReasonHard, true
	case h.used >= h.thresholds.trigger:
		return ReasonTrigger, true
	case c.options.Period > 0 && h.sampled.Sub(h.collected) >= c.options.Period:
		return ReasonPeriodic, true
	case h.inGap() && !h.sampled.Before(c.turns.holdOff):
		return ReasonIdleGap, true
	}
	return 0, false
}
