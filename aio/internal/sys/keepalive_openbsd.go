package sys

// keepAliveOptions are none: OpenBSD has these times for the whole system.
var keepAliveOptions []int
