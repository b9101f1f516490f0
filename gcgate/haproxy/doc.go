// Package haproxy has the signals of evenkeel.dev/gcgate for HAProxy. [RuntimeAPI] drains the
// server by HAProxy's stats socket, which is fast and confirmed. [AgentCheck] answers HAProxy's
// agent-check, and needs no access to the socket. The configurations are in deploy/haproxy.
package haproxy
