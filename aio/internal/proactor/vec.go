package proactor

// maxBuffers is IOV_MAX of Linux, macOS and the BSDs (sysconf(3)).
const maxBuffers = 1024

// Vec is what a Sendv sends: it stands in the operation's Tag, and has the caller's. It is the watcher's
// as the operation is.
type Vec struct {
	Tag  any
	rest [][]byte // not sent yet
	all  [][]byte // rest is the end of it: kept for its memory
	sent int

	total int
}

// Set has v send bufs, of which the empty ones are left out. It copies the slice, but no bytes. It returns
// how many bytes there are.
func (v *Vec) Set(bufs [][]byte) (n int) {
	v.all = v.all[:0]
	for _, b := range bufs {
		n += len(b)
		for len(b) > 0 {
			part := min(len(b), MaxTransfer)
			v.all, b = append(v.all, b[:part]), b[part:]
		}
	}
	v.rest, v.sent, v.total = v.all, 0, n
	return n
}

// Next returns what one transfer takes, and its bytes: with the buffer that reaches MaxTransfer, so that
// a head is not sent without the beginning of its body.
func (v *Vec) Next() (bufs [][]byte, n int) {
	for i, b := range v.rest {
		if i == maxBuffers || n >= MaxTransfer {
			return v.rest[:i], n
		}
		n += len(b)
	}
	return v.rest, n
}

// Sent says how many bytes have been sent since Set. It reports whether these are all.
func (v *Vec) Sent(size int) (all bool) {
	n := size - v.sent
	v.sent = size
	for len(v.rest) > 0 && n >= len(v.rest[0]) {
		n -= len(v.rest[0])
		v.rest[0], v.rest = nil, v.rest[1:]
	}
	if len(v.rest) > 0 {
		v.rest[0] = v.rest[0][n:]
	}
	return len(v.rest) == 0
}

// Clear forgets the buffers and the tag, and returns for how many buffers it has room.
func (v *Vec) Clear() (room int) {
	clear(v.all)
	*v = Vec{all: v.all[:0]}
	return cap(v.all)
}
