package sys

import "golang.org/x/sys/unix"

// reusePort is the option that balances (FreeBSD's setsockopt(2)).
const reusePort = unix.SO_REUSEPORT_LB
