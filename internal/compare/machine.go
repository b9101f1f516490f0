package compare

import (
	"fmt"
	"math"

	"evenkeel.dev/internal/runfile"
)

// disturbances says who else used the machine beside a run, where that matters.
func disturbances(r *runfile.Run) (list []note) {
	d := r.Disturbance
	if d == nil {
		return nil
	}
	add := func(key string, percent float64, format string, a ...any) {
		n := int64(math.Round(percent))
		list = append(list, note{key: key, size: n, text: fmt.Sprintf("%d%% "+format, append([]any{n}, a...)...)})
	}
	if x, ok := d.ByOthers(); ok {
		who := "evenkeel"
		if d.Service != "" {
			who += " and " + d.Service
		}
		add("others", x, "of this machine's processor time went to processes other than %s", who)
	}
	if x, ok := d.Stolen(); ok {
		add("steal", x, "of this machine's processor time was taken by its hypervisor (steal)")
	}
	return list
}
