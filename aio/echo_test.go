//go:build unix

package aio_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/internal/testutil"
)

// The tests and benchmarks in this file have gaio's names and do what those do, so that the two
// can be put side by side: go test -v -run=8k ./aio; go test -run=^$ -bench Echo ./aio.

func Test1k(t *testing.T)  { manyEchoes(t, 1<<10, 1<<10) }
func Test2k(t *testing.T)  { manyEchoes(t, 2<<10, 1<<10) }
func Test4k(t *testing.T)  { manyEchoes(t, 4<<10, 1<<10) }
func Test8k(t *testing.T)  { manyEchoes(t, 8<<10, 1<<10) }
func Test10k(t *testing.T) { manyEchoes(t, 10<<10, 1<<10) }
func Test12k(t *testing.T) { manyEchoes(t, 12<<10, 1<<10) }

func Test1kTiny(t *testing.T) { manyEchoes(t, 1<<10, 16) }
func Test8kTiny(t *testing.T) { manyEchoes(t, 8<<10, 16) }

func TestDeadline1k(t *testing.T) { manyDeadlines(t, 1<<10) }
func TestDeadline8k(t *testing.T) { manyDeadlines(t, 8<<10) }

// echoServer echoes until the test ends.
func echoServer(t testing.TB, b aio.Backend, size int) net.Addr {
	w := open(t, aio.Options{Backend: b})
	pump(t, w, func(r aio.Result) { echo(r) })
	return accept(t, func(c net.Conn) {
		lingerNot(c)
		echoes(w, c, size)
	})
}

// lingerNot has c's close leave no TIME_WAIT behind, of which ten thousand would be too many.
func lingerNot(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

// needTime skips a test with many connections where it would take long. With the race detector
// TestFeatureScalesBeyond10KConnections is the one of its kind.
func needTime(t *testing.T, n int) {
	t.Helper()
	switch {
	case n <= 1<<10:
	case testing.Short():
		t.Skip("needs some seconds, and -short is set")
	case testutil.RaceFlag == "-race=true":
		t.Skip("needs a build without the race detector, which makes it take ten times as long: go test ./aio")
	}
}

// client is what manyEchoes knows of a connection.
type client struct {
	name byte
	left int // bytes to come
}

// manyEchoes has n clients send a message of so many bytes each, and read it back by the swap
// buffer, as gaio's do. Server and clients are in this process, a Watcher each.
func manyEchoes(t *testing.T, n, size int) {
	needDescriptors(t, 2*n)
	onEach(t, func(t *testing.T, b aio.Backend) {
		needTime(t, n)
		addr := echoServer(t, b, size)
		w := open(t, aio.Options{Backend: b})
		start := time.Now()
		done := make(chan struct{})
		over := 0
		pump(t, w, func(r aio.Result) {
			c := r.Tag.(*client)
			if r.Error == aio.ErrWatcherClosed {
				return
			}
			if r.Error != nil {
				t.Errorf("%d results of %d: %v", over, n, r.Error)
				w.Close()
				close(done)
				return
			}
			if r.Op == aio.OpRead {
				for _, got := range r.Buffer {
					if got != c.name {
						t.Errorf("client %d got %d", c.name, got)
						break
					}
				}
				if c.left -= r.Size; c.left == 0 {
					if over++; over == n {
						close(done)
					}
					return
				}
			}
			_ = r.Conn.Read(c, nil, none)
		})
		conns := dialAll(t, addr.String(), n, func(conn net.Conn) {
			lingerNot(conn)
			c := &client{name: byte(conn.LocalAddr().(*net.TCPAddr).Port), left: size}
			message := make([]byte, size)
			for i := range message {
				message[i] = c.name
			}
			handle, err := w.Attach(conn)
			if err == nil {
				err = handle.Write(c, message, none)
			}
			if err != nil {
				t.Error(err)
			}
		})
		<-done
		t.Logf("%d clients x %d B: %v, %d reads found the swap buffer full", len(conns), size,
			time.Since(start).Round(time.Millisecond), w.Stats().SwapFull)
	})
}

// manyDeadlines has n connections on which nothing comes.
func manyDeadlines(t *testing.T, n int) {
	needDescriptors(t, 2*n)
	onEach(t, func(t *testing.T, b aio.Backend) {
		needTime(t, n)
		addr := echoServer(t, b, 128)
		w := open(t, aio.Options{Backend: b})
		conns := dialAll(t, addr.String(), n, lingerNot)
		start := time.Now()
		for i, c := range conns { // the first has the last deadline
			must(t, attach(t, w, c).Read(nil, nil, start.Add(100*time.Millisecond-time.Duration(i))))
		}
		for _, r := range wait(t, w, n) {
			if r.Error != aio.ErrDeadline {
				t.Fatalf("%v, want %v", r.Error, aio.ErrDeadline)
			}
		}
		t.Logf("%d deadlines: %v", n, time.Since(start).Round(time.Millisecond))
	})
}

func BenchmarkEcho128B(b *testing.B)           { benchmarkEcho(b, aio.BackendAuto, 128, 1) }
func BenchmarkEcho1K(b *testing.B)             { benchmarkEcho(b, aio.BackendAuto, 1<<10, 1) }
func BenchmarkEcho4K(b *testing.B)             { benchmarkEcho(b, aio.BackendAuto, 4<<10, 1) }
func BenchmarkEcho64K(b *testing.B)            { benchmarkEcho(b, aio.BackendAuto, 64<<10, 1) }
func BenchmarkEcho128K(b *testing.B)           { benchmarkEcho(b, aio.BackendAuto, 128<<10, 1) }
func BenchmarkEcho128BParallel(b *testing.B)   { benchmarkEcho(b, aio.BackendAuto, 128, 128) }
func BenchmarkEcho1KParallel(b *testing.B)     { benchmarkEcho(b, aio.BackendAuto, 1<<10, 128) }
func BenchmarkEcho4KParallel(b *testing.B)     { benchmarkEcho(b, aio.BackendAuto, 4<<10, 128) }
func BenchmarkEcho64KParallel(b *testing.B)    { benchmarkEcho(b, aio.BackendAuto, 64<<10, 128) }
func BenchmarkEcho128KParallel(b *testing.B)   { benchmarkEcho(b, aio.BackendAuto, 128<<10, 128) }
func BenchmarkEcho4KParallel1024(b *testing.B) { benchmarkEcho(b, aio.BackendAuto, 4<<10, 1024) }

// BenchmarkEcho16KParallel1024 has messages of 16 KiB; gaio's of that name has 4.
func BenchmarkEcho16KParallel1024(b *testing.B) { benchmarkEcho(b, aio.BackendAuto, 16<<10, 1024) }

// BenchmarkEchoBackend is some of the above with the backend named.
func BenchmarkEchoBackend(b *testing.B) {
	for _, backend := range aiosuite.Backends() {
		for _, conns := range []int{1, 128} {
			for _, size := range []int{128, 4 << 10, 64 << 10} {
				b.Run(fmt.Sprintf("%v/%dB/%d", backend, size, conns), func(b *testing.B) {
					benchmarkEcho(b, backend, size, conns)
				})
			}
		}
	}
}

// benchmarkEcho sends b.N messages over each connection and reads them back. A connection's next
// message follows when the one before has been sent, echoed or not.
func benchmarkEcho(b *testing.B, backend aio.Backend, size, conns int) {
	needDescriptors(b, 2*conns)
	addr := echoServer(b, backend, size)
	w := open(b, aio.Options{Backend: backend})
	total := b.N * size // of one connection
	type progress struct{ written, read int }
	message := make([]byte, size)
	all := dialAll(b, addr.String(), conns, lingerNot)
	b.ReportAllocs()
	b.SetBytes(int64(size * conns))
	b.ResetTimer()
	for _, own := range all {
		c := attach(b, w, own)
		p := &progress{written: size}
		must(b, c.Write(p, message, none))
		must(b, c.Read(p, make([]byte, size), none))
	}
	for over := 0; over < conns; {
		results, err := w.WaitIO()
		must(b, err)
		for _, r := range results {
			must(b, r.Error)
			p := r.Tag.(*progress)
			if r.Op == aio.OpWrite {
				if p.written < total {
					p.written += size
					must(b, r.Conn.Write(p, message, none))
				}
				continue
			}
			if p.read += r.Size; p.read == total {
				over++
			} else {
				must(b, r.Conn.Read(p, r.Buffer, none))
			}
		}
	}
	b.StopTimer()
}

const (
	many    = 10_500
	manyEnv = "AIO_TEST_MANY_ADDR" // has the child be the clients
)

// needDescriptors skips the test when the process may not open so many.
func needDescriptors(t testing.TB, n int) {
	t.Helper()
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	const others = 64
	if have := uint64(limit.Cur); have < uint64(n+others) {
		t.Skipf("needs %d descriptors, the limit is %d: raise it with ulimit -n (CONTRIBUTING.md)", n+others, have)
	}
}

// TestFeatureScalesBeyond10KConnections: one Watcher, in one goroutine, with more than 10,000
// connections at a time, each of which is answered. The clients are a process of their own: two
// ends would need twice the descriptors. Each backend by its name is make check's.
func TestFeatureScalesBeyond10KConnections(t *testing.T) {
	needDescriptors(t, many)
	each := onEach
	if !testutil.Checking() {
		each = func(t *testing.T, f func(*testing.T, aio.Backend)) { f(t, aio.BackendAuto) }
	}
	each(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		pump(t, w, func(r aio.Result) { echo(r) })
		addr := accept(t, func(c net.Conn) { echoes(w, c, 64) })

		start := time.Now()
		clients := child(t, "TestClientsOfScales", manyEnv+"="+addr.String())
		clients.Stderr = os.Stderr
		hold, err := clients.StdinPipe()
		must(t, err)
		out, err := clients.StdoutPipe()
		must(t, err)
		must(t, clients.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		if want := fmt.Sprintf("%d echoes\n", many); line != want {
			t.Errorf("the clients say %q, %v; want %q", line, err, want)
		}
		if n := w.Stats().Conns; n < many {
			t.Errorf("%d connections at a time, want %d", n, many)
		}
		t.Logf("%d connections, an echo on each: %v", many, time.Since(start).Round(time.Millisecond))
		must(t, hold.Close())
		_, _ = io.Copy(io.Discard, out)
		if err := clients.Wait(); err != nil {
			t.Errorf("the clients: %v", err)
		}
		eventually(t, "all connections are freed", func() bool { return w.Stats().Conns == 0 })
	})
}

// TestClientsOfScales is the child of the test above. It connects, and has echoes, in groups: the
// last answer of a group says that all of it was accepted, so no connect finds the queue full.
func TestClientsOfScales(t *testing.T) {
	addr, err := netip.ParseAddrPort(os.Getenv(manyEnv))
	if err != nil {
		return
	}
	var all []int
	defer func() {
		for _, fd := range all {
			_ = syscall.Close(fd)
		}
	}()
	const group = 500
	message := make([]byte, 64)
	for range many / group {
		var fds [group]int
		for i := range fds {
			fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
			must(t, err)
			all = append(all, fd)
			// no TIME_WAIT
			must(t, syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1}))
			must(t, syscall.Connect(fd, &syscall.SockaddrInet4{Addr: addr.Addr().As4(), Port: int(addr.Port())}))
			_, err = syscall.Write(fd, message)
			must(t, err)
			fds[i] = fd
		}
		for _, fd := range fds {
			if n, err := syscall.Read(fd, message); n != len(message) {
				t.Fatalf("an echo of %d bytes, %v", n, err)
			}
		}
	}
	fmt.Printf("%d echoes\n", many)
	_, _ = io.Copy(io.Discard, os.Stdin) // keep them open until the parent has counted
}

// BenchmarkSwapReads counts the reads without a buffer that a message takes when one has come on each connection and
// all share the default swap buffer: 1 at best. What finds it full waits for the next WaitIO.
func BenchmarkSwapReads(b *testing.B) {
	const size = 1000
	for _, backend := range aiosuite.Backends() {
		for _, conns := range []int{500, 2000} {
			b.Run(fmt.Sprintf("%v/%d", backend, conns), func(b *testing.B) {
				needDescriptors(b, 2*conns)
				w := open(b, aio.Options{Backend: backend})
				peers := make([]net.Conn, conns)
				left := make([]int, conns)
				for i := range peers {
					var conn *aio.Conn
					conn, peers[i] = attached(b, w)
					must(b, conn.Read(i, nil, none))
				}
				before := w.Stats()
				waits := 0
				b.ResetTimer()
				for range b.N {
					for i, p := range peers {
						_, err := p.Write(make([]byte, size))
						must(b, err)
						left[i] = size
					}
					for n := conns; n > 0; waits++ {
						results, err := w.WaitIO()
						must(b, err)
						for _, r := range results {
							must(b, r.Error)
							i := r.Tag.(int)
							if left[i] -= r.Size; left[i] == 0 {
								n--
							}
							must(b, r.Conn.Read(i, nil, none))
						}
					}
				}
				s := w.Stats()
				messages := float64(b.N * conns)
				b.ReportMetric(float64(s.Results-before.Results)/messages, "reads/message")
				b.ReportMetric(float64(s.SwapFull-before.SwapFull)/messages, "full/message")
				b.ReportMetric(float64(s.Polls-before.Polls)/messages, "polls/message")
				b.ReportMetric(messages/float64(waits), "messages/WaitIO")
			})
		}
	}
}
