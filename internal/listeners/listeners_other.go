//go:build !linux

package listeners

import "net/netip"

// Processes returns nil: not known here.
func Processes([]netip.AddrPort) []int { return nil }

// Own returns false: not known here.
func Own(netip.AddrPort) bool { return false }
