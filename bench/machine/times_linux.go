package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Times are the machine's CPU times since its start. The hypervisor gave Steal to others.
type Times struct{ Total, Used, Steal time.Duration }

// ReadTimes reads them from /proc/stat.
func ReadTimes() (Times, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Times{}, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	var t Times
	for i, s := range strings.Fields(line) {
		if i == 0 || i > 8 { // "cpu"; guest times are in user time already
			continue
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return t, fmt.Errorf("/proc/stat: %w", err)
		}
		d := time.Duration(n) * Tick
		t.Total += d
		if i <= 3 { // user, nice, system
			t.Used += d
		}
		if i == 8 {
			t.Steal = d
		}
	}
	return t, nil
}

// StealSince returns the share of CPU time that the hypervisor gave to others, 0 to 1.
func (t Times) StealSince(before Times) float64 {
	if t.Total <= before.Total {
		return 0
	}
	return float64(t.Steal-before.Steal) / float64(t.Total-before.Total)
}
