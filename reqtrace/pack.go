package reqtrace

import "encoding/binary"

// packed is numbers one after the other, small ones in few bytes: a report keeps something of
// every request, and must not need much more memory than the trace.
type packed []byte

func (p *packed) put(ns int64) { *p = binary.AppendUvarint(*p, uint64(max(ns, 0))) }

// next reads a number back, and takes it off the front.
func (p *packed) next() int64 {
	if b := (*p)[0]; b < 0x80 { // most are zero, or the number of something
		*p = (*p)[1:]
		return int64(b)
	}
	v, n := binary.Uvarint(*p)
	*p = (*p)[n:]
	return int64(v)
}

const chunkSize = 64 << 10 // bytes

// store keeps what is packed in chunks, which are never moved nor copied: a slice that grows would
// be there twice each time.
type store []packed

// spot is where something stands in a store: the number of its chunk, and 16 bits for where in it.
// What does not fit in a chunk has one to itself. So a store may grow to 4 GB, of which maxKept
// keeps it far.
type spot uint32

func spotAt(chunk, offset int) spot { return spot(chunk<<16 | offset) }

// keep copies p, which is not empty, to the end.
func (s *store) keep(p packed) spot {
	n := len(*s)
	if n == 0 || cap((*s)[n-1])-len((*s)[n-1]) < len(p) {
		*s = append(*s, make(packed, 0, max(chunkSize, len(p))))
		n++
	}
	last := &(*s)[n-1]
	at := spotAt(n-1, len(*last))
	*last = append(*last, p...)
	return at
}

// at returns what stands at x, and what was kept after it.
func (s store) at(x spot) packed { return s[x>>16][x&(1<<16-1):] }
