package listeners

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Processes returns the processes that listen at one of these addresses, if their descriptors are
// readable, except docker-proxy.
func Processes(at []netip.AddrPort) (pids []int) {
	sockets := socketsAt(at)
	if len(sockets) == 0 {
		return nil
	}
	dirs, err := filepath.Glob("/proc/[0-9]*/fd")
	if err != nil {
		return nil
	}
	for _, dir := range dirs {
		if !holds(dir, sockets) {
			continue
		}
		if name, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "comm")); err == nil &&
			strings.TrimSpace(string(name)) == "docker-proxy" {
			return nil
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Own yields where this process listens, in the order of its descriptors. Listeners are usually
// among the first. /proc/net/tcp has all connections of the machine.
func Own() iter.Seq[netip.AddrPort] {
	return func(yield func(netip.AddrPort) bool) {
		dir, err := os.Open("/proc/self/fd")
		if err != nil {
			return
		}
		defer dir.Close()
		for {
			names, _ := dir.Readdirnames(256)
			if len(names) == 0 {
				return
			}
			for _, name := range names {
				if at, ok := listener(name); ok && !yield(at) {
					return
				}
			}
		}
	}
}

// listener returns the address of a descriptor, if that is a listener for TCP.
func listener(name string) (at netip.AddrPort, ok bool) {
	fd, err := strconv.Atoi(name)
	if err != nil {
		return at, false
	}
	listens, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN)
	if err != nil || listens == 0 {
		return at, false
	}
	addr, _ := syscall.Getsockname(fd)
	switch a := addr.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)), true
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port)), true
	}
	return at, false
}

func socketsAt(at []netip.AddrPort) map[string]bool {
	sockets := map[string]bool{}
	for _, name := range []string{"tcp", "tcp6"} {
		if table, err := os.ReadFile(filepath.Join("/proc/net", name)); err == nil {
			listening(string(table), at, sockets)
		}
	}
	return sockets
}

func holds(dir string, sockets map[string]bool) bool {
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false // another user's, or it has ended
	}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && sockets[to] {
			return true
		}
	}
	return false
}

// listening adds the sockets of a table of proc(5) that listen at one of these addresses. A line is
//
//	sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode ...
func listening(table string, at []netip.AddrPort, sockets map[string]bool) {
	const stateListen = "0A"
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != stateListen {
			continue
		}
		local, ok := parseHexAddr(f[1])
		if !ok {
			continue
		}
		for _, a := range at {
			if Serves(local, a) {
				sockets[fmt.Sprintf("socket:[%s]", f[9])] = true
			}
		}
	}
}

// parseHexAddr reads "0100007F:1F90", which is words of 32 bits as in memory, and the port.
func parseHexAddr(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	p, err := strconv.ParseUint(port, 16, 16)
	ip, err2 := hex.DecodeString(host)
	if err != nil || err2 != nil || len(ip)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(ip, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	addr, ok := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), uint16(p)), ok
}
