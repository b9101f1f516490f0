package reqtrace

import "encoding/binary"

// packed is numbers one after the other, small ones in few bytes: a report keeps something of
// every request, and must not need much more memory than the trace.
type packed []byte

func (p *packed) put(ns int64) { *p = binary.AppendUvarint(*p, uint64(max(ns, 0))) }

func (p *packed) putSigned(ns int64) { *p = binary.AppendVarint(*p, ns) }

// next and nextSigned read numbers back, and take them off the front.
func (p *packed) next() int64 {
	if b := (*p)[0]; b < 0x80 { // most are zero, or the number of something
		*p = (*p)[1:]
		return int64(b)
	}
	v, n := binary.Uvarint(*p)
	*p = (*p)[n:]
	return int64(v)
}

func (p *packed) nextSigned() int64 {
	v, n := binary.Varint(*p)
	*p = (*p)[n:]
	return v
}

const chunkSize = 64 << 10 // bytes

// store keeps what is packed in chunks, which are never moved nor copied: a slice that grows would
// be there twice each time.
type store []packed

// spot is where something stands in a store.
type spot struct{ chunk, offset uint32 }

// keep copies p to the end.
func (s *store) keep(p packed) spot {
	n := len(*s)
	if n == 0 || cap((*s)[n-1])-len((*s)[n-1]) < len(p) {
		*s = append(*s, make(packed, 0, max(chunkSize, len(p))))
		n++
	}
	last := &(*s)[n-1]
	at := spot{uint32(n - 1), uint32(len(*last))}
	*last = append(*last, p...)
	return at
}

// at returns what stands at x, and what was kept after it.
func (s store) at(x spot) packed { return s[x.chunk][x.offset:] }

// list is a slice that is filled in chunks, likewise.
type list[T any] struct {
	chunks [][]T
	n      int
}

func (l *list[T]) add(v T) {
	const size = 1 << 12
	if l.n%size == 0 {
		l.chunks = append(l.chunks, make([]T, 0, size))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, v)
	l.n++
}

// all returns everything in one slice, and empties the list.
func (l *list[T]) all() []T {
	all := make([]T, 0, l.n)
	for i, c := range l.chunks {
		all = append(all, c...)
		l.chunks[i] = nil
	}
	*l = list[T]{}
	return all
}
