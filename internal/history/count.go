package history

import (
	"fmt"
	"strings"

	"evenkeel.dev/internal/textfmt"
)

// Count is slow requests that a service's own clock saw, and how many of them are not explained,
// by why.
type Count struct {
	Slow    uint64 `json:"slow,omitempty"`    // all that took longer than the threshold
	Kept    uint64 `json:"kept,omitempty"`    // in a snapshot that is kept, and not analysed
	Limited uint64 `json:"limited,omitempty"` // too soon after a snapshot
	Off     uint64 `json:"off,omitempty"`     // nothing was recorded, to stay within the budget
	Failed  uint64 `json:"failed,omitempty"`  // their snapshot was not written or not analysed, or had too many
}

// Coverage says how many slow requests are explained.
type Coverage struct {
	Count
	Seen uint64 `json:"seen,omitempty"` // explained
	Cut  uint64 `json:"cut,omitempty"`  // began before their trace
}

func (c *Coverage) add(d Coverage) {
	addTo(&c.Slow, d.Slow)
	addTo(&c.Kept, d.Kept)
	addTo(&c.Limited, d.Limited)
	addTo(&c.Off, d.Off)
	addTo(&c.Failed, d.Failed)
	addTo(&c.Seen, d.Seen)
	addTo(&c.Cut, d.Cut)
}

// String says it in words: "seen 1,947 of 2,079 slow requests; not seen: 120 too soon after a
// snapshot". A trace may see more requests than the service's clock counted.
func (c Coverage) String() string {
	seen, slow := textfmt.Count(float64(c.Seen)), textfmt.Count(float64(c.Slow))
	t := fmt.Sprintf("seen %s of %s slow requests", seen, slow)
	if c.Seen > c.Slow {
		t = fmt.Sprintf("seen %s slow requests, of which the service's own clock counted %s", seen, slow)
	}
	// such as those of a snapshot that is being analysed
	others := c.Slow - min(c.Slow, c.Seen+c.Cut+c.Kept+c.Limited+c.Off+c.Failed)
	var why []string
	for _, r := range []struct {
		n    uint64
		what string
	}{
		{c.Kept, "in snapshots that are not analysed"},
		{c.Limited, "too soon after a snapshot"},
		{c.Cut, "that began before their trace"},
		{c.Off, "while recording was off to stay within its budget"},
		{c.Failed, "in snapshots that failed"},
		{others, "others"},
	} {
		if r.n > 0 {
			why = append(why, textfmt.Count(float64(r.n))+" "+r.what)
		}
	}
	if len(why) == 0 {
		return t
	}
	return t + "; not seen: " + strings.Join(why, ", ")
}
