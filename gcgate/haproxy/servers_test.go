package haproxy

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
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
