// Package haproxy has the signals of evenkeel.dev/gcgate for HAProxy. [RuntimeAPI] drains a server
// over the stats socket, fast and confirmed. [AgentCheck] answers HAProxy's agent-check, and needs
// no access to the socket. deploy/haproxy has the configurations.
package haproxy
