//go:build !linux

package proc

func lockToParent() {}

// waitExit reaps the process, because kill(2) counts a zombie and alive would never be false. A
// signal just after the group's last process ended may reach another group.
func (p *Process) waitExit() { _ = p.reap() }

// Processes returns nil, because they are not known here.
func (p *Process) Processes() []int { return nil }

// PeakRSS returns 0, because it is not known here.
func PeakRSS([]int) int64 { return 0 }
