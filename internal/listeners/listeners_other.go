//go:build !linux

package listeners

import (
	"iter"
	"net/netip"
)

// Processes returns nil, because they are not known here.
func Processes([]netip.AddrPort) []int { return nil }

// Own yields nothing, because it is not known here.
func Own() iter.Seq[netip.AddrPort] { return func(func(netip.AddrPort) bool) {} }
