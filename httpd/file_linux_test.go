package httpd_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// calls is how many read(2) and the like this process has made (proc_pid_io(5)); recv(2) is none of them.
func calls(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skipf("needs /proc/self/io: %v", err)
	}
	_, after, _ := strings.Cut(string(text), "syscr: ")
	n, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFilesStayInTheKernel: a large file is not read into the process.
func TestFilesStayInTheKernel(t *testing.T) {
	const size, piece = 16 << 20, 32 << 10
	path, _ := content(t, size)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	onEach(t, func(t *testing.T, b aio.Backend) {
		addr, err := net.ResolveTCPAddr("tcp", serve(t, b, &http.Server{Handler: h}))
		if err != nil {
			t.Fatal(err)
		}
		c := speak(t, &syscall.SockaddrInet4{Addr: [4]byte(addr.IP.To4()), Port: addr.Port})
		defer syscall.Close(int(c))
		before := calls(t)
		if _, err := syscall.Write(int(c), []byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		buf, got := make([]byte, 1<<20), 0
		for {
			n, _, err := syscall.Recvfrom(int(c), buf, syscall.MSG_WAITALL)
			if n == 0 || err != nil {
				break
			}
			got += n
		}
		if got < size {
			t.Fatalf("%d bytes", got)
		}
		if n := calls(t) - before; n > size/piece/2 {
			t.Errorf("%d reads for %d pieces", n, size/piece)
		}
	})
}

// BenchmarkFile is what a file costs, of processor time, beside net/http: client and server
// together, where the client has the kernel throw away what it gets.
func BenchmarkFile(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20, 100 << 20} {
		path, _ := content(b, size)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
		for _, server := range []string{"net/http", "epoll", "io_uring"} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, server), func(b *testing.B) {
				var addr string
				if backend := aio.BackendAuto; server == "net/http" {
					ln, err := net.Listen("tcp", "127.0.0.1:0")
					if err != nil {
						b.Fatal(err)
					}
					srv := &http.Server{Handler: h}
					defer srv.Close()
					go srv.Serve(ln)
					addr = ln.Addr().String()
				} else if err := backend.UnmarshalText([]byte(server)); err != nil {
					b.Fatal(err)
				} else {
					addr = serve(b, backend, &http.Server{Handler: h})
				}
				_, port, _ := net.SplitHostPort(addr)
				n, _ := strconv.Atoi(port)
				fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
				if err == nil {
					err = syscall.Connect(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: n})
				}
				if err != nil {
					b.Fatal(err)
				}
				defer syscall.Close(fd)
				b.SetBytes(int64(size))
				before := processor(b)
				for b.Loop() {
					fetch(b, fd, size)
				}
				b.ReportMetric(float64((processor(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
			})
		}
	}
}

// fetch asks for a file, and has the kernel throw it away (tcp(7), MSG_TRUNC).
func fetch(b *testing.B, fd, size int) {
	if _, err := syscall.Write(fd, question); err != nil {
		b.Fatal(err)
	}
	var head [4096]byte
	n, err := syscall.Read(fd, head[:])
	at := bytes.Index(head[:max(n, 0)], []byte("\r\n\r\n"))
	if err != nil || at < 0 {
		b.Fatal(n, err)
	}
	for got := n - at - 4; got < size; got += n {
		if n, _, err = syscall.Recvfrom(fd, discarded[:min(len(discarded), size-got)], syscall.MSG_TRUNC); n <= 0 ||
			err != nil {
			b.Fatal(n, err)
		}
	}
}

var discarded [1 << 20]byte

// processor is the time that this process has had of processors.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
