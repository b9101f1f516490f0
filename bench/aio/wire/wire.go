// Package wire has what the client and the server of package aio's cases have to agree on.
package wire

// Of the load "closed".
const (
	ClosedWrites = 10  // to each connection before it is closed
	ClosedSize   = 100 // bytes of each
)

// QueuedSize are the bytes of a write of the load "queued".
const QueuedSize = 100

// MixedSizes are the sizes of the messages that the load "reads" sends in turn, in bytes.
var MixedSizes = []int{100, 1000, 4000, 8000, 16_000, 30_000}
