package haproxy

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
)

// TestCopiedServerName: two replicas with the same name of a server would each drain the other. The
// addresses tell.
func TestCopiedServerName(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mine := l.Addr().String()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	theirs := other.Addr().String()
	other.Close() // another process's
	for _, tt := range []struct {
		name string
		a, b string // addresses
		own  string // the server that it should be; "": nothing is wrong
	}{
		{name: "right", a: mine, b: theirs},
		{name: "copied", a: theirs, b: mine, own: "b"},
		{name: "on another host", a: "192.0.2.1:80", b: mine, own: "b"},
		{name: "translated", a: theirs, b: "192.0.2.1:80"},
		{name: "names that are not resolved", a: "", b: mine},
	} {
		servers := []server{{name: "a", op: 2, weight: 1, addr: tt.a}, {name: "b", op: 2, weight: 1, addr: tt.b}}
		for _, s := range servers { // with backups, which have no check
			s.name += "-anyway"
			servers = append(servers, s)
		}
		f := &fakeHAProxy{servers: servers, level: "admin"}
		h := &RuntimeAPI{Addr: serveFake(t, "tcp", "127.0.0.1:0", f.answer), Backend: "be", Server: "a"}
		check, drain := h.Check(t.Context()), h.Drain(t.Context(), time.Second)
		for what, err := range map[string]error{"Check": check, "Drain": drain} {
			switch {
			case tt.own == "" && err != nil:
				t.Errorf("%s: %s: %v", tt.name, what, err)
			case tt.own != "" && (!errors.Is(err, errOtherServer) || !errors.Is(err, gcgate.ErrUnreached) ||
				!strings.Contains(err.Error(), "the address of server "+tt.own)):
				t.Errorf("%s: %s: %v, want it to name %s", tt.name, what, err, tt.own)
			}
		}
		if got := strings.Join(f.sets, ","); (got == "a drain") != (tt.own == "") {
			t.Errorf("%s: it sets %q", tt.name, got)
		}
	}
}
