package reqtrace

import "encoding/binary"

// packed is numbers one after the other, small ones in few bytes: a report keeps something of
// every request, and must not need much more memory than the trace.
type packed []byte

func (p *packed) put(ns int64) { *p = binary.AppendUvarint(*p, uint64(max(ns, 0))) }

func (p *packed) putSigned(ns int64) { *p = binary.AppendVarint(*p, ns) }

// cursor reads numbers back.
type cursor struct {
	p  packed
	at int
}

func (c *cursor) nextSigned() int64 {
	v, n := binary.Varint(c.p[c.at:])
	c.at += n
	return v
}

func (c *cursor) next() int64 {
	v, n := binary.Uvarint(c.p[c.at:])
	c.at += n
	return int64(v)
}
