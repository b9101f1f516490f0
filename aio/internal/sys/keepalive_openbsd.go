package sys

// OpenBSD has these times for the whole system.
var keepAliveOptions []int
