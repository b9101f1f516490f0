package reqtrace

import (
	"testing"
)

// TestChildsWait: what a child of the request waits for is where the child waits for it, though the one that it waits for has
// no name, and called from where the request waits for the child.
func TestChildsWait(t *testing.T) {
	s := newScript(t, 3)
	s.at(10).create(0, 3).run(3, 3).wait(3, "network", "net/http.(*persistConn).readLoop")
	serve(s)
	s.at(110).create(1, 2).wait(1, "sync", "sync.(*WaitGroup).Wait", "main.join").run(2, 2)
	s.at(120).wait(2, "select", "net/http.(*persistConn).roundTrip", "main.part")
	s.at(300).wake(0, 3).run(3, 3).wake(3, 2).run(2, 2).release(2, 1, "main.join").run(1, 1)
	r := done(s.at(310)).want(map[Cause]int64{CauseRunning: 10 + 10 + 10, CauseNetwork: 180})
	if b := r.Sites[0]; b.Site != "main.part (x.go:7)" || b.Handler != "main.join (x.go:7)" || b.Op != "" {
		t.Errorf("%+v", b)
	}
}
