package proactor

// maxBuffers is IOV_MAX of Linux, macOS and the BSDs (sysconf(3)).
const maxBuffers = 1024

// Vec is the list of buffers of a Sendv. It is in the operation's Tag, and holds the caller's tag.
type Vec struct {
	Tag  any
	rest [][]byte // not sent yet
	all  [][]byte // all buffers. Kept for its memory
	sent int

	total int
}

// Set copies the slice of bufs without the empty ones, and returns the number of bytes.
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

// Next returns the buffers of one transfer and their bytes. It includes the buffer that passes
// MaxTransfer, so that a header is sent with the beginning of its body.
func (v *Vec) Next() (bufs [][]byte, n int) {
	for i, b := range v.rest {
		if i == maxBuffers || n >= MaxTransfer {
			return v.rest[:i], n
		}
		n += len(b)
	}
	return v.rest, n
}

// Sent notes the bytes sent since Set, and reports whether these are all.
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

// Clear drops the buffers and the tag, and returns the capacity.
func (v *Vec) Clear() (room int) {
	clear(v.all)
	*v = Vec{all: v.all[:0]}
	return cap(v.all)
}
