// Package client keeps a Go client's requests off a replica that is about to collect garbage,
// without a balancer. [Transport] spreads requests over replicas whose gates (evenkeel.dev/gcgate)
// announce collections in the headers of their answers, by evenkeel.dev/gcgate/httpgate. A replica
// without a gate is never drained.
//
// docs/reference/protocol.md has the protocol. The headers are exported for adapters and other
// clients.
package client
