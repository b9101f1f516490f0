// Package haproxy has the signal of evenkeel.dev/gcgate for HAProxy. [RuntimeAPI] drains a server
// over the stats socket, fast and confirmed. Without access to the socket use
// evenkeel.dev/gcgate/health. deploy/haproxy has the configurations.
package haproxy
