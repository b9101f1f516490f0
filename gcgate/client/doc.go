// Package client keeps a Go client's requests off a replica that is about to collect garbage,
// without a balancer. [Transport] spreads requests over replicas whose gates announce collections
// in headers, by evenkeel.dev/gcgate/httpgate. docs/reference/protocol.md has the protocol.
package client
