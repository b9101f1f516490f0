//go:build !linux

package listeners

import "net/netip"

// Processes returns nil, because they are not known here.
func Processes([]netip.AddrPort) []int { return nil }

// Own returns nil, because it is not known here.
func Own() []netip.AddrPort { return nil }
