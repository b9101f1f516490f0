package gcgate

import "net/netip"

// allowed reports whether remoteAddr, an address with or without a port as in
// [http.Request.RemoteAddr], is of this host's loopback or in allow. An IPv4 address mapped
// into IPv6 counts as IPv4. What is no IP address (a Unix socket's "@") is not allowed.
func allowed(remoteAddr string, allow []netip.Prefix) bool {
	addr, ok := remoteIP(remoteAddr)
	return ok && (addr.IsLoopback() || contains(allow, addr))
}

// remoteIP returns the IP address in remoteAddr, unmapped and without zone.
func remoteIP(remoteAddr string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(remoteAddr)
	if err != nil {
		ap, err := netip.ParseAddrPort(remoteAddr)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = ap.Addr()
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
