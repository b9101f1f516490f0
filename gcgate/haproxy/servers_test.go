package haproxy

import (
	"errors"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/gcgate"
)

func TestParseRuntimeAPI(t *testing.T) {
	tests := []struct {
		in   string
		want *RuntimeAPI // nil: an error
	}{
		{"127.0.0.1:9199,be/a", &RuntimeAPI{Addr: "127.0.0.1:9199", Backend: "be", Server: "a"}},
		{"[::1]:9199,be/a", &RuntimeAPI{Addr: "[::1]:9199", Backend: "be", Server: "a"}},
		{
			"unix:/run/ha,proxy.sock,be.1/a_b:c-d",
			&RuntimeAPI{Addr: "unix:/run/ha,proxy.sock", Backend: "be.1", Server: "a_b:c-d"},
		},
		{"/run/haproxy.sock,be/a", &RuntimeAPI{Addr: "/run/haproxy.sock", Backend: "be", Server: "a"}},
	}
	for _, in := range []string{
		"", ",", "/", "127.0.0.1:9199", "127.0.0.1:9199,be", ",be/a", "127.0.0.1,be/a", "127.0.0.1:,be/a",
		"ipv4@127.0.0.1:9199,be/a", "unix:,be/a", "127.0.0.1:9199,/a", "127.0.0.1:9199,be/", "127.0.0.1:9199,be/a/b",
		"127.0.0.1:9199,be/a b", "127.0.0.1:9199,be/a;quit", "127.0.0.1:9199,be/a\nquit", "127.0.0.1:9199,b\x00e/a",
		"127.0.0.1:9199,be/\\", "127.0.0.1:9199,be/é", "127.0.0.1:9199,be/" + strings.Repeat("a", 256),
	} {
		tests = append(tests, struct {
			in   string
			want *RuntimeAPI
		}{in: in})
	}
	for _, tt := range tests {
		got, err := ParseRuntimeAPI(tt.in)
		switch {
		case tt.want == nil && err == nil:
			t.Errorf("%q: got %+v, want an error", tt.in, got)
		case tt.want != nil && (err != nil || !reflect.DeepEqual(got, tt.want)):
			t.Errorf("%q: got %+v, %v; want %+v", tt.in, got, err, tt.want)
		}
	}
}

func TestRuntimeAPISendsNoNameThatIsACommand(t *testing.T) {
	addr := serveFake(t, "tcp", "127.0.0.1:0", func(line string) string {
		t.Errorf("sent %q", line)
		return ""
	})
	for _, name := range []string{"", "a b", "a;shutdown sessions server be/b", "a\nquit", "a/b", "<<"} {
		for _, h := range []*RuntimeAPI{
			{Addr: addr, Backend: name, Server: "a"},
			{Addr: addr, Backend: "be", Server: name},
		} {
			if errors.Join(h.Drain(t.Context(), 0)) == nil || h.Ready(t.Context()) == nil ||
				h.Check(t.Context()) == nil {
				t.Errorf("%q passes for a name", name)
			}
		}
	}
}

// FuzzParseServers: what is read out of any answer, written as HAProxy writes it, reads the same.
func FuzzParseServers(f *testing.F) {
	good := table("be", server{name: "a", op: 2, admin: 8, weight: 1},
		server{name: "b", op: 0, admin: 0x41, weight: 256})
	for _, s := range []string{
		"", "\n", good, "\n" + good, good[:len(good)-1], "No such server.\n\n" + good,
		"Can't find backend.\n\n", "# be_id\n\n",
	} {
		f.Add(s, "be")
	}
	f.Fuzz(func(t *testing.T, answer, backend string) {
		servers, err := parseServers(answer, backend)
		if err != nil && servers != nil {
			t.Fatalf("both %v and %v", servers, err)
		}
		if err != nil || len(strings.Fields(backend)) != 1 || strings.TrimSpace(backend) != backend {
			return
		}
		again, err := parseServers(table(backend, servers...), backend)
		if err != nil || !slices.Equal(again, servers) {
			t.Fatalf("got %v, and %v, %v from what HAProxy would write for it", servers, again, err)
		}
	})
}

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
		if known := h.looks == maxLooks; known != (tt.name == "right") {
			t.Errorf("%s: after %d looks it is known: %v", tt.name, h.looks, known)
		}
	}
}
