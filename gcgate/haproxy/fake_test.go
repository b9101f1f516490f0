package haproxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/internal/leaks"
)

// tableHead is the head of a table that HAProxy 2.6.12 wrote.
const tableHead = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight " +
	"srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state " +
	"bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr " +
	"srv_agent_addr srv_agent_port\n"

func table(backend string, servers ...server) string {
	var b strings.Builder
	b.WriteString(tableHead)
	for i, s := range servers {
		host, port := "-", "0" // as of a Unix socket
		if at := strings.LastIndexByte(s.addr, ':'); at >= 0 {
			host, port = s.addr[:at], s.addr[at+1:]
		}
		fmt.Fprintf(&b, "3 %s %d %s %s %d %d %d 1 7 1 0 2 0 0 0 0 - %s - 0 0 - - 0\n", backend, i+1, s.name, host, s.op,
			s.admin, s.weight, port)
	}
	return b.String() + "\n"
}

// fakeHAProxy answers as HAProxy 2.6 does, for backend be.
type fakeHAProxy struct {
	mu      sync.Mutex
	servers []server // guarded by mu
	sets    []string // guarded by mu; "a drain"
	level   string
	stuck   bool   // set server changes nothing
	after   func() // called with mu held after each set
}

func (f *fakeHAProxy) answer(line string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out strings.Builder
	for command := range strings.SplitSeq(line, ";") {
		words := strings.Fields(command)
		switch {
		case strings.HasPrefix(strings.TrimSpace(command), "set server "):
			out.WriteString(f.set(words[2], words[4]))
		case strings.HasPrefix(strings.TrimSpace(command), "show servers state"):
			if words[3] != "be" {
				out.WriteString("Can't find backend.\n\n")
				continue
			}
			out.WriteString(table("be", f.servers...))
		case strings.TrimSpace(command) == "show cli level":
			out.WriteString(f.level + "\n\n")
		default:
			out.WriteString("Unknown command\n\n")
		}
	}
	return out.String()
}

func (f *fakeHAProxy) set(name, state string) string {
	backend, own, _ := strings.Cut(name, "/")
	i := slices.IndexFunc(f.servers, func(s server) bool { return s.name == own })
	switch {
	case f.level != "admin":
		return "Permission denied\n\n"
	case backend != "be":
		return "No such backend.\n\n"
	case i < 0:
		return "No such server.\n\n"
	}
	f.sets = append(f.sets, own+" "+state)
	if !f.stuck { // as in 2.6, drain and ready end maint
		f.servers[i].admin &^= forcedDrain | forcedMaint
		if state == "drain" {
			f.servers[i].admin |= forcedDrain
		}
	}
	if f.after != nil {
		f.after()
	}
	return "\n"
}

// serveFake answers each connection once at an address of the network, until the test ends.
func serveFake(t *testing.T, network, addr string, answer func(line string) string) (at string) {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
					io.WriteString(conn, answer(strings.TrimSuffix(line, "\n")))
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
	return l.Addr().String()
}

func TestMain(m *testing.M) { leaks.Main(m) }
