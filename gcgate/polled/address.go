package polled

import "net/netip"

// Allowed returns who polls, for [Peers.Begin], and whether they may: who is on this host's
// loopback or in allow may. remote is the other end of the connection, with or without a port, as
// in net.Conn.RemoteAddr and http.Request.RemoteAddr. On a Unix socket, where network is "unix",
// its permissions say who may connect, and from is the zero Addr. An IPv4 address that is mapped
// into IPv6 counts as IPv4, and zones do not count. What is no address is not allowed.
func Allowed(network, remote string, allow []netip.Prefix) (from netip.Addr, ok bool) {
	if network == "unix" {
		return netip.Addr{}, true
	}
	from, ok = parse(remote)
	return from, ok && (from.IsLoopback() || contains(allow, from))
}

// Covered reports whether remote, an address as for [Allowed], is in one of the prefixes. The
// loopback has to be among them like any other.
func Covered(remote string, prefixes []netip.Prefix) bool {
	from, ok := parse(remote)
	return ok && contains(prefixes, from)
}

// parse returns the IP address in remote, unmapped and without zone.
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

// contains reports whether one of the prefixes covers addr, which is unmapped.
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
