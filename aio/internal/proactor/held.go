package proactor

import "math/bits"

// Held is what a backend has open in the kernel. It refers to no connection. So the garbage
// collector can find a forgotten Watcher, whose cleanup closes Held.
//
// Add and Remove are called under the watcher's mu. Close is the last call.
type Held struct {
	CloseFd func(fd int) // closes a connection or a listener
	Rest    func()       // closes the backend's own descriptors and memory
	conns   []uint64     // a bit for each descriptor
}

// Add notes a descriptor that was opened.
func (h *Held) Add(fd int32) {
	for int(fd/64) >= len(h.conns) {
		h.conns = append(h.conns, 0)
	}
	h.conns[fd/64] |= 1 << (fd % 64)
}

// Remove notes that a descriptor is about to be closed.
func (h *Held) Remove(fd int32) { h.conns[fd/64] &^= 1 << (fd % 64) }

// Close closes everything, and returns the number of connections and listeners.
func (h *Held) Close() (n int) {
	for i, word := range h.conns {
		for ; word != 0; word &= word - 1 {
			h.CloseFd(64*i + bits.TrailingZeros64(word))
			n++
		}
	}
	h.Rest()
	return n
}

// Holder is a Backend that knows what it has open.
type Holder interface{ Holds() *Held }
