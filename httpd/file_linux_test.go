package httpd_test

import (
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

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
