//go:build !(linux || darwin || freebsd || openbsd || netbsd || dragonfly)

package httpd

import "evenkeel.dev/aio"

func inherits(*aio.Conn) bool { return true }
