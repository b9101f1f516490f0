package observe

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strconv"

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/listeners"
	"evenkeel.dev/loadgen"
)

const maxHosts = 16

// WhereIs finds the local processes that listen at the targets.
func WhereIs(ctx context.Context, targets []loadgen.Target) runfile.Watched {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	seen := map[string]bool{}
	var here []netip.AddrPort
	for i := range targets {
		u, err := url.Parse(targets[i].URL)
		if err != nil || seen[u.Host] {
			continue
		}
		if seen[u.Host] = true; len(seen) > maxHosts {
			return runfile.Watched{}
		}
		addrs, err := Here(ctx, u)
		if err != nil {
			return runfile.Watched{}
		}
		here = append(here, addrs...)
	}
	if len(here) == 0 {
		return runfile.Watched{Elsewhere: true}
	}
	pids := listeners.Processes(here)
	return runfile.Watched{Processes: func() []int { return pids }}
}

// Here returns the local addresses that a URL leads to.
func Here(ctx context.Context, u *url.URL) (here []netip.AddrPort, err error) {
	_, text, _ := net.SplitHostPort(fetch.Address(u))
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil, err
	}
	mine := listeners.LocalAddrs()
	for _, a := range addrs {
		if a = a.Unmap(); a.IsLoopback() || mine[a] {
			here = append(here, netip.AddrPortFrom(a, uint16(port)))
		}
	}
	return here, nil
}
