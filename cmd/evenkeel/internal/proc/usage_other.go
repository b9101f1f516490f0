//go:build !linux

package proc

// PeakRSS returns 0: not known here. getrusage(2) would tell the largest of the parent's own at
// the time of the fork.
func (p *Process) PeakRSS() int64 { return 0 }

// Processes returns nil: not known here.
func (p *Process) Processes() []int { return nil }

// PeakRSSOf returns 0: not known here.
func PeakRSSOf([]int) int64 { return 0 }
