package reqtrace

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/trace"
	"slices"
	"testing"
	"time"

	xtrace "golang.org/x/exp/trace"

	"evenkeel.dev/reqtrace/internal/mark"
)

const (
	roundTrip = "net/http.(*persistConn).roundTrip"
	readLoop  = "net/http.(*persistConn).readLoop"
)

// wakes is a wake-up with the stack of the goroutine that ends the wait.
func (s *script) wakes(by, g int, funcs ...string) *script {
	return s.move(by, g, xtrace.GoWaiting, xtrace.GoRunnable, "", stack(funcs...))
}

// TestCalls: a request's calls show in who ends the waits of the client.
func TestCalls(t *testing.T) {
	t.Parallel()
	const dialer, caller, writer, reader, child = 6, 7, 8, 9, 10
	// The caller has a request, and the connection's goroutines wait.
	begins := func(s *script) {
		s.at(10).born(caller).at(11).create(0, writer).run(writer, writer).wait(writer, "select",
			"net/http.(*persistConn).writeLoop")
		s.at(12).create(0, dialer).run(dialer, dialer).off(dialer, xtrace.GoSyscall, "", "syscall.Connect")
		s.at(13).create(dialer, reader).run(reader, reader).wait(reader, "network", "bufio.(*Reader).Peek", readLoop)
		s.at(20).wake(0, caller).at(21).run(caller, caller).begin(caller)
	}
	sends := func(s *script, g int) {
		s.wakes(g, writer, "runtime.chansend1", roundTrip, "main.call")
		s.at(s.now+1).wait(g, "select", "runtime.selectgo", roundTrip, "main.call")
		s.at(s.now+1).run(writer, writer).wait(writer, "select", "net/http.(*persistConn).writeLoop")
	}
	answers := func(s *script, g int) {
		s.wake(0, reader).at(s.now+1).run(reader, reader)
		s.wakes(reader, g, "runtime.selectgo", readLoop).wait(reader, "network", "bufio.(*Reader).Peek", readLoop)
		s.at(s.now+1).run(g, g)
	}
	over := func(s *script) {
		s.at(90).end(caller).wait(caller, "network", "internal/poll.(*FD).Read", "main.serve")
	}
	us := func(n int) time.Duration { return time.Duration(n-1) * time.Microsecond }
	opened := us(12)
	for name, tt := range map[string]struct {
		play func(s *script)
		want []Call
	}{
		"two": {func(s *script) {
			for _, at := range []int64{30, 50} {
				sends(s.at(at), caller)
				answers(s.at(at+10), caller)
			}
		}, []Call{
			{Start: us(30), Sent: us(30), End: us(41), Conn: reader, Opened: opened},
			{Start: us(50), Sent: us(50), End: us(61), Conn: reader, Opened: opened},
		}},
		"the caller is late": {func(s *script) {
			s.at(30).wakes(caller, writer, "runtime.chansend1", roundTrip)
			s.at(40).wake(0, reader).run(reader, reader).wait(reader, "select", readLoop)
			s.at(45).wakes(caller, reader, "runtime.selectgo", roundTrip)
		}, []Call{{Start: us(30), Sent: us(30), End: us(45), Conn: reader, Opened: opened}}},
		"marked": {func(s *script) {
			feed(s.at(29), caller, xtrace.EventLog, xtrace.Log{Category: mark.Call, Message: "7f"}, xtrace.NoStack)
			sends(s.at(30), caller)
			answers(s.at(40), caller)
		}, []Call{{ID: "7f", Start: us(29), Sent: us(30), End: us(41), Conn: reader, Opened: opened}}},
		"by a goroutine that it started": {func(s *script) {
			s.at(25).create(caller, child).wait(caller, "sync", "main.join").run(child, child)
			sends(s.at(30), child)
			answers(s.at(40), child)
			s.at(50).wake(child, caller).off(child, xtrace.GoNotExist, "").at(51).run(caller, caller)
		}, []Call{{Start: us(30), Sent: us(30), End: us(41), Conn: reader, Opened: opened}}},
		"a connection opened for it": {func(s *script) {
			const dials, reads = 11, 12
			s.at(25).create(caller, dials).wait(caller, "select", "net/http.(*Transport).getConn", "main.call")
			s.at(26).run(dials, dials).off(dials, xtrace.GoSyscall, "", "syscall.Connect")
			s.at(27).run(dials, dials).wait(dials, "network", "net.(*netFD).connect")
			s.at(35).wake(0, dials).run(dials, dials).create(dials, reads).run(reads, reads)
			s.wait(reads, "network", "bufio.(*Reader).Peek", readLoop)
			s.at(36).wake(dials, caller).run(caller, caller)
			for _, at := range []int64{40, 60} {
				sends(s.at(at), caller)
				s.at(at+10).wake(0, reads).at(at+11).run(reads, reads)
				s.wakes(reads, caller, "runtime.selectgo", readLoop)
				s.wait(reads, "network", "bufio.(*Reader).Peek", readLoop)
				s.at(at+12).run(caller, caller)
			}
		}, []Call{
			{Start: us(26), Sent: us(40), End: us(51), Conn: 12, Opened: us(26)},
			{Start: us(60), Sent: us(60), End: us(71), Conn: 12, Opened: us(26)},
		}},
		"given up": {func(s *script) {
			sends(s.at(30), caller)
			s.at(40).wakes(0, caller).run(caller, caller)
		}, nil},
		"a connection that got free": {func(s *script) {
			s.at(30).wait(caller, "select", "net/http.(*Transport).getConn", "main.call")
			answers(s.at(40), caller)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, each := range []func(Request){nil, func(Request) {}} {
				s := newScriptOf(t, 4, Options{Each: each})
				begins(s)
				tt.play(s)
				over(s)
				want := slices.Clone(tt.want)
				if each == nil { // only marks
					want = slices.DeleteFunc(want, func(c Call) bool { return c.ID == "" })
					for i := range want {
						want[i] = Call{ID: want[i].ID, Start: want[i].Start}
					}
				}
				if got := s.one().Calls; !slices.Equal(got, want) {
					t.Errorf("each %t: %+v, want %+v", each != nil, got, want)
				}
			}
		})
	}
}

// TestClients: the calls of net/http's clients are found, and at both ends a connection has one
// goroutine.
func TestClients(t *testing.T) {
	for _, protocol := range []string{"HTTP/1", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			var p http.Protocols
			p.SetHTTP1(protocol == "HTTP/1")
			p.SetUnencryptedHTTP2(protocol == "HTTP/2")
			client := &http.Client{Transport: &http.Transport{Protocols: &p, MaxIdleConnsPerHost: 1}}
			defer client.CloseIdleConnections()
			get := func(url string) {
				res, err := client.Get(url)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			serve := func(h http.HandlerFunc) *httptest.Server {
				s := httptest.NewUnstartedServer(h)
				s.Config.Protocols = &p
				s.Start()
				t.Cleanup(s.Close)
				return s
			}
			callee := serve(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(time.Millisecond)
				fmt.Fprintln(w, "answer")
			})
			caller := serve(func(http.ResponseWriter, *http.Request) {
				for range 3 {
					get(callee.URL)
				}
			})
			var buf bytes.Buffer
			if err := trace.Start(&buf); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				get(caller.URL)
			}
			trace.Stop()
			conns, callers := map[int64]bool{}, 0
			_, err := Analyze(t.Context(), &buf, Options{Each: func(q Request) {
				if q.Conn == 0 {
					t.Errorf("no connection: %+v", q)
				}
				if len(q.Calls) > 0 {
					callers++
				}
				for _, c := range q.Calls {
					if c.Start < q.Start || c.End <= c.Start || c.End > q.End {
						t.Errorf("a call from %v to %v in a request from %v to %v", c.Start, c.End, q.Start, q.End)
					}
					conns[c.Conn] = true
				}
				// Over HTTP/2 a call does not show if the caller is later than the answer.
				if n := len(q.Calls); n > 3 || protocol == "HTTP/1" && n != 0 && n != 3 {
					t.Errorf("%d calls", n)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if len(conns) != 1 || callers == 0 {
				t.Errorf("%d connections, %d requests with calls", len(conns), callers)
			}
		})
	}
}
