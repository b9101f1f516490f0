// Package haproxy has the signals of evenkeel.dev/gcgate that HAProxy understands.
//
// [RuntimeAPI] drains the server by HAProxy's stats socket. It is fast and confirmed, but the
// process must reach the socket and be trusted with it. [AgentCheck] answers HAProxy's agent-check.
// A third way is evenkeel.dev/gcgate/health. The configurations are in deploy/haproxy.
//
// Give the gate Turns too, because two drained replicas may leave HAProxy no server.
package haproxy
