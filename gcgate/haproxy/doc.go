// Package haproxy has the signals of evenkeel.dev/gcgate that HAProxy understands: how a process
// that is about to collect tells HAProxy to send its requests to another server.
//
// [RuntimeAPI] drains the server by HAProxy's stats socket. It is the fastest signal that there is,
// and is confirmed, but the process must reach the socket and be trusted with it. [AgentCheck]
// answers HAProxy's agent-check, and needs nothing else. Where neither is possible there are health
// checks: evenkeel.dev/gcgate/health. The configurations are in deploy/haproxy.
//
// Each is one of gcgate.Options.Signals. Give the gate Turns too: two replicas that are drained at
// once leave HAProxy no server to send to.
package haproxy
