// Package listeners finds the processes that listen at a TCP address of this machine.
package listeners

import (
	"net"
	"net/netip"
)

func LocalAddrs() map[netip.Addr]bool {
	mine := map[netip.Addr]bool{}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return mine
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				mine[ip.Unmap()] = true
			}
		}
	}
	return mine
}

// Serves reports whether a listener at an address takes connections to another.
func Serves(listener, at netip.AddrPort) bool {
	return listener.Port() == at.Port() && (listener.Addr().IsUnspecified() || listener.Addr() == at.Addr())
}
