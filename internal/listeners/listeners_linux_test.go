package listeners

import (
	"maps"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestListening(t *testing.T) {
	if strings.HasPrefix(runtime.GOARCH, "ppc64") && runtime.GOARCH != "ppc64le" || runtime.GOARCH == "s390x" {
		t.Skip("the table below has the addresses of a little-endian machine")
	}
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1 0 100 0 0 10 0
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 102 1
   2: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 103 1
   3: 0200007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 104 1
   4: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 105 1
   5: 00000000000000000000000001000000:1F90 ANY6:0000 0A 00000000:00000000 00:00000000 00000000     0        0 106 1
   6: 0000000000000000FFFF00000100007F:1F90 ANY6:0000 0A 00000000:00000000 00:00000000 00000000     0        0 107 1
   7: nonsense 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 108 1
   8: 01:1F90 00000000:0000 0A 0 0 0 0 0 109 1
`
	for at, want := range map[string]string{
		"127.0.0.1:8080": "socket:[101] socket:[102] socket:[107]",
		"[::1]:8080":     "socket:[102] socket:[106]",
		"127.0.0.1:8081": "socket:[105]",
		"127.0.0.1:1":    "",
	} {
		sockets := map[string]bool{}
		addresses := []netip.AddrPort{netip.MustParseAddrPort(at)}
		listening(strings.ReplaceAll(table, "ANY6", strings.Repeat("0", 32)), addresses, sockets)
		if got := strings.Join(slices.Sorted(maps.Keys(sockets)), " "); got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

// TestOwn finds a listener of this process, and not one that is closed.
func TestOwn(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Logf("%s: %v", addr, err)
			continue
		}
		port := uint16(l.Addr().(*net.TCPAddr).Port)
		at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
		own := func() bool {
			for l := range Own() {
				if Serves(l, at) {
					return true
				}
			}
			return false
		}
		if !own() || !slices.Contains(Processes([]netip.AddrPort{at}), os.Getpid()) {
			t.Errorf("it does not find its listener %v at %v", l.Addr(), at)
		}
		l.Close()
		if own() {
			t.Errorf("it finds a listener at %v that is closed", at)
		}
	}
}
