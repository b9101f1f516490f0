// Package client keeps a Go client's requests off replicas that collect garbage, without a
// balancer. [Transport] spreads requests over replicas whose gates announce collections in headers
// (evenkeel.dev/gcgate/httpgate). docs/reference/protocol.md has the protocol.
package client
