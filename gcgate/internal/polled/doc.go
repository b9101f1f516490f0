// Package polled tracks peers that poll a process: load balancers that ask again and again whether
// to send it requests. Such a peer learns of a drain only from the answer to its next poll.
//
// A peer is an address, because connections come and go. One that begins a poll has acted on the
// answers before. Peers remembers 64 addresses, and answers "ready" to any other.
package polled
