//go:build linux

package harness

import (
	"cmp"
	"fmt"
	"time"
)

// List prints all cases with their claims, their needs and their time.
func (h *Harness) List() {
	for i := range h.Cases {
		c := &h.Cases[i]
		fmt.Fprintf(h.Out, "%s (about %v)\n  %s\n", c.Name, c.takes(), c.What)
		if c.Needs != "" {
			fmt.Fprintf(h.Out, "  needs %s\n", c.Needs)
		}
		for _, claim := range c.Claims {
			fmt.Fprintf(h.Out, "  %-70s %s\n", claim.name(), claim.Target)
		}
		fmt.Fprintln(h.Out)
	}
}

func (c *Case) takes() time.Duration {
	const start = time.Second // of processes
	length := cmp.Or(c.Length, 3*time.Second)
	each := length + cmp.Or(c.Warmup, length/10) + start
	return (time.Duration(cmp.Or(c.Rounds, 10)*len(c.runs())) * each).Round(time.Second)
}
