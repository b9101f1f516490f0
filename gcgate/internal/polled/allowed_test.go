package polled

import (
	"net/netip"
	"testing"
)

func TestAllowed(t *testing.T) {
	prefix := func(ss ...string) (p []netip.Prefix) {
		for _, s := range ss {
			p = append(p, netip.MustParsePrefix(s))
		}
		return p
	}
	for _, tt := range []struct {
		addr  string
		allow []netip.Prefix
		want  bool
	}{
		{"127.0.0.1:80", nil, true},
		{"127.9.9.9", nil, true},
		{"[::1]:80", nil, true},
		{"::1", nil, true},
		{"[::ffff:127.0.0.1]:80", nil, true},
		{"10.0.0.1:80", nil, false},
		{"10.0.0.1:80", prefix("10.0.0.0/8"), true},
		{"11.0.0.1:80", prefix("10.0.0.0/8"), false},
		{"[::ffff:10.0.0.1]:80", prefix("10.0.0.0/8"), true},
		{"10.0.0.1:80", prefix("::ffff:10.0.0.0/104"), true},
		{"11.0.0.1:80", prefix("::ffff:10.0.0.0/104"), false},
		{"[fe80::1%eth0]:80", prefix("fe80::/10"), true},
		{"[2001:db8::1]:80", prefix("10.0.0.0/8", "2001:db8::/32"), true},
		{"", prefix("0.0.0.0/0", "::/0"), false},
		{"@", prefix("0.0.0.0/0", "::/0"), false},
		{"localhost:80", prefix("0.0.0.0/0", "::/0"), false},
	} {
		if _, got := Allowed("tcp", tt.addr, tt.allow); got != tt.want {
			t.Errorf("%q with %v is allowed: %v, want %v", tt.addr, tt.allow, got, tt.want)
		}
	}
	if from, ok := Allowed("unix", "@", nil); !ok || from.IsValid() {
		t.Errorf("on a Unix socket: %v, %v", from, ok)
	}
	if from, _ := Allowed("tcp", "[::ffff:127.0.0.1]:80", nil); from.String() != "127.0.0.1" {
		t.Errorf("an address mapped into IPv6 is %v", from)
	}
}
