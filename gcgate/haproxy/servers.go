package haproxy

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/internal/listeners"
)

type server struct {
	name   string
	addr   string // host:port; "": not known
	op     uint64 // 0 stopped, 1 starting, 2 running, 3 stopping
	admin  uint64 // bits below
	weight uint64 // 0 takes no requests
}

// Bits of srv_admin_state (management.txt, "show servers state"). CMAINT (0x04) only notes the
// configuration.
const (
	forcedMaint    = 0x01
	inheritedMaint = 0x02
	forcedDrain    = 0x08
	inheritedDrain = 0x10
	resolveMaint   = 0x20
)

func (s server) inMaint() bool   { return s.admin&forcedMaint != 0 }
func (s server) isDrained() bool { return s.admin&forcedDrain != 0 }

func (s server) isUsable() bool {
	const out = forcedMaint | inheritedMaint | forcedDrain | inheritedDrain | resolveMaint
	return s.admin&out == 0 && s.weight > 0 && (s.op == 1 || s.op == 2)
}

// isLast reports whether only name can take new requests. A server that is configured twice takes
// them if both entries do.
func isLast(servers []server, name string) bool {
	usable := map[string]bool{}
	own := ""
	for _, s := range servers {
		key := cmp.Or(s.addr, s.name)
		if s.name == name {
			own = key
		}
		was, seen := usable[key]
		usable[key] = s.isUsable() && (was || !seen)
	}
	for key, ok := range usable {
		if ok && key != own {
			return false
		}
	}
	return true
}

// listensAt reports whether this process listens at the address of the server named, and otherwise
// returns the server at whose address it does. Neither is known if the addresses do not tell.
func listensAt(servers []server, name string) (named bool, other string) {
	local := listeners.LocalAddrs()
	here := map[string]netip.AddrPort{} // servers at addresses of this machine
	for _, s := range servers {
		at, ok := s.addrPort()
		switch {
		case ok && (at.Addr().IsLoopback() || local[at.Addr()]):
			here[s.name] = at
		case !ok && s.name == name:
			return false, ""
		}
	}
	if len(here) == 0 {
		return false, ""
	}
	for l := range listeners.Own() {
		for _, s := range servers {
			at, ok := here[s.name]
			switch {
			case !ok || !listeners.Serves(l, at):
			case s.name == name:
				return true, ""
			case other == "":
				other = s.name
			}
		}
	}
	return false, other
}

func (s server) addrPort() (at netip.AddrPort, ok bool) {
	i := strings.LastIndexByte(s.addr, ':')
	if i < 0 {
		return at, false
	}
	addr, err := netip.ParseAddr(s.addr[:i])
	port, err2 := strconv.ParseUint(s.addr[i+1:], 10, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), err == nil && err2 == nil
}

const nameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"

var (
	errNoTable  = errors.New("the answer has no table of servers: is that HAProxy 1.6 or later?")
	errBadTable = errors.New("the table of servers is cut short or not understood: please report it, " +
		"with HAProxy's version")
)

// parseServers reads an answer to "show servers state". The table starts at "# be_id be_name ...",
// and ends at an empty line.
func parseServers(answer, backend string) ([]server, error) {
	var columns []string
	var servers []server
	for line := range strings.Lines(answer) {
		fields := strings.Fields(line)
		switch {
		case columns == nil:
			if len(fields) > 1 && fields[0] == "#" && fields[1] == "be_id" {
				columns = fields[1:]
			}
			continue
		case len(fields) == 0:
			return servers, nil
		case strings.HasPrefix(fields[0], "#"):
			continue
		}
		at := func(column string) string {
			if i := slices.Index(columns, column); i >= 0 && i < len(fields) {
				return fields[i]
			}
			return ""
		}
		op, err1 := strconv.ParseUint(at("srv_op_state"), 10, 32)
		admin, err2 := strconv.ParseUint(at("srv_admin_state"), 10, 32)
		weight, err3 := strconv.ParseUint(at("srv_uweight"), 10, 32)
		if err := errors.Join(err1, err2, err3); err != nil || at("srv_name") == "" {
			return nil, errBadTable
		}
		if at("be_name") == backend {
			s := server{name: at("srv_name"), op: op, admin: admin, weight: weight}
			if host, port := at("srv_addr"), at("srv_port"); host != "" && host != "-" && port != "" {
				s.addr = host + ":" + port
			}
			servers = append(servers, s)
		}
	}
	if columns == nil {
		return nil, errNoTable
	}
	return nil, errBadTable
}
