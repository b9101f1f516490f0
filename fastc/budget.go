package fastc

import "time"

const (
	allowance = 10 * time.Millisecond // over the budget, a second of use
	strikes   = 3                     // timed calls over the budget, at least, that divert a function
)

// overtime is what the calls of a function took beyond its budget, less the allowance for each
// second. The Site's mu guards it.
type overtime struct {
	surplus time.Duration
	seen    int // timed calls since the surplus was nothing
	at      time.Time
}

// add notes that calls took that long beyond the budget together, going by one that was timed. It
// reports whether that is too much.
func (o *overtime) add(now time.Time, beyond time.Duration) bool {
	o.surplus -= time.Duration(now.Sub(o.at).Seconds() * float64(allowance))
	o.at = now
	if o.surplus <= 0 {
		o.surplus, o.seen = 0, 0
	}
	o.surplus += beyond
	o.seen++
	return o.surplus > allowance && o.seen >= strikes
}
