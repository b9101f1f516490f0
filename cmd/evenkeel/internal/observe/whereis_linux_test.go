package observe

import (
	"net"
	"os"
	"slices"
	"testing"

	"evenkeel.dev/loadgen"
)

// TestWhereIs finds this process, which listens, and a service that must be elsewhere (RFC 5737).
func TestWhereIs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here := loadgen.Target{URL: "http://" + l.Addr().String() + "/x"}
	away := loadgen.Target{URL: "http://192.0.2.1/"}
	w := WhereIs(t.Context(), []loadgen.Target{here, here, away})
	if w.Elsewhere || w.Processes == nil || !slices.Contains(w.Processes(), os.Getpid()) {
		t.Errorf("%+v; want process %d", w, os.Getpid())
	}
	if w := WhereIs(t.Context(), []loadgen.Target{away}); !w.Elsewhere || w.Processes != nil {
		t.Errorf("%+v; want it elsewhere", w)
	}
	if w := WhereIs(t.Context(), []loadgen.Target{{URL: "http://host.invalid/"}, away}); w.Elsewhere ||
		w.Processes != nil {
		t.Errorf("%+v of a host that nobody knows", w)
	}
}
