package main

import (
	"maps"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/loadgen"
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
   5: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 106 1
   6: 0000000000000000FFFF00000100007F:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 107 1
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
		listening(table, []netip.AddrPort{netip.MustParseAddrPort(at)}, sockets)
		if got := strings.Join(slices.Sorted(maps.Keys(sockets)), " "); got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

// TestWhereIs finds this process, which listens, and a service that must be elsewhere (RFC 5737).
func TestWhereIs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here := loadgen.Target{URL: "http://" + l.Addr().String() + "/x"}
	away := loadgen.Target{URL: "http://192.0.2.1/"}
	w := whereIs(t.Context(), []loadgen.Target{here, here, away})
	if w.Elsewhere || w.Processes == nil || !slices.Contains(w.Processes(), os.Getpid()) {
		t.Errorf("%+v; want process %d", w, os.Getpid())
	}
	if w := whereIs(t.Context(), []loadgen.Target{away}); !w.Elsewhere || w.Processes != nil {
		t.Errorf("%+v; want it elsewhere", w)
	}
	if w := whereIs(t.Context(), []loadgen.Target{{URL: "http://host.invalid/"}, away}); w.Elsewhere || w.Processes != nil {
		t.Errorf("%+v of a host that nobody knows", w)
	}
}
