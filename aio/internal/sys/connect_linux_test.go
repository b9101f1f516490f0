package sys

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestConnectedToItself: a socket that the kernel gave the port that it connects to, where nobody
// listens, is connected to itself, which says that it was refused.
func TestConnectedToItself(t *testing.T) {
	for _, tt := range []struct {
		name   string
		domain int
		at     unix.Sockaddr
	}{
		{"IPv4", unix.AF_INET, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}},
		{"IPv6", unix.AF_INET6, &unix.SockaddrInet6{Addr: [16]byte{15: 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fd, err := streamSocket(tt.domain)
			if err != nil {
				t.Skip("needs", tt.name, err)
			}
			defer Close(fd)
			if err := unix.Bind(fd, tt.at); err != nil {
				t.Skip("needs", tt.name, err)
			}
			own, err := unix.Getsockname(fd)
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Connect(fd, own); err != nil && err != unix.EINPROGRESS {
				t.Fatal(err)
			}
			if got := (Sockets{}).Connected(fd); got != unix.ECONNREFUSED {
				t.Errorf("%v, want ECONNREFUSED", got)
			}
		})
	}
}

// TestConnectedWithoutNames: unix sockets without names are connected. macOS and the BSDs report no
// name of a peer that has closed.
func TestConnectedWithoutNames(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(fds[0])
	defer Close(fds[1])
	if err := (Sockets{}).Connected(fds[0]); err != nil {
		t.Error(err)
	}
}
