package polled

import "net/netip"

// Allowed returns who polls, and whether they may. This host's loopback may, and the addresses in
// allow. A Unix socket has permissions of its own, and from is the zero Addr.
func Allowed(network, remote string, allow []netip.Prefix) (from netip.Addr, ok bool) {
	if network == "unix" {
		return netip.Addr{}, true
	}
	from, ok = parse(remote)
	return from, ok && (from.IsLoopback() || contains(allow, from))
}

func parse(remote string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(remote)
	if err != nil {
		withPort, err := netip.ParseAddrPort(remote)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if ip := p.Addr(); ip.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(ip.Unmap(), p.Bits()-96)
		}
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
