//go:build !linux

package proc

// PeakRSS returns 0, because it is not known here.
func (p *Process) PeakRSS() int64 { return 0 }

// Processes returns nil, because they are not known here.
func (p *Process) Processes() []int { return nil }

// PeakRSSOf returns 0, because it is not known here.
func PeakRSSOf([]int) int64 { return 0 }
