//go:build !linux

package proc

// PeakRSS is not known here.
func (p *Process) PeakRSS() int64 { return 0 }

// Processes are not known here.
func (p *Process) Processes() []int { return nil }

// PeakRSSOf is not known here.
func PeakRSSOf([]int) int64 { return 0 }
