package sys

import "golang.org/x/sys/unix"

// keepAliveOptions are the idle time, the interval and the count of keep-alive probes.
var keepAliveOptions = []int{unix.TCP_KEEPALIVE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT}
