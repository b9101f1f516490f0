package across

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"
	"time"

	"evenkeel.dev/reqtrace"
)

// A trace of 30 MB has some 30,000 requests. What is kept of each is packed, because the traces of all
// services are joined at once:
//
//	spot ──> length │ tiles: start after the last, length, cause, site │ entries: time, longest, blame
//	                                                               │                             │
//	                                                             sites                         blames
//
// A list ends with a 0. So its first numbers are one more.
type store struct {
	chunks  [][]byte
	sites   []string
	bySite  map[string]uint64
	blames  []reqtrace.Blame // without times; the first are causes without a place
	byBlame map[reqtrace.Blame]uint64
	recent  [8]uint64 // numbers of blames
	added   int       // to recent, so far
	scratch []byte
}

// request is a request. Its times are of the service's clock.
type request struct {
	clock int64 // end
	took  int64
	sent  int64 // when it last wrote to the client, or the end
	spot  spot
}

// spot is the number of a chunk, and 16 bits for the offset in it.
type spot uint64

func (q *request) begin() int64 { return q.clock - q.took }

// entry is a time at a place.
type entry struct {
	blame         uint64
	time, longest int64
}

const chunkSize = 1 << 16

// put packs the path of q but what ran, and its times.
func (s *store) put(q *reqtrace.Request) spot {
	if s.bySite == nil {
		s.bySite, s.byBlame = map[string]uint64{}, map[reqtrace.Blame]uint64{}
		for _, c := range reqtrace.Causes() {
			s.blames = append(s.blames, reqtrace.Blame{Cause: c})
		}
	}
	b, at, rest := s.scratch[:0], q.Start, q.Parts
	add := func(n uint64) { b = binary.AppendUvarint(b, n) }
	for _, t := range q.Path {
		if t.Cause != reqtrace.CauseRunning {
			add(uint64(max(t.Start-at, 0)) + 1)
			add(uint64(t.End - t.Start))
			add(uint64(t.Cause))
			add(intern(&s.sites, s.bySite, t.Site))
			at = t.End
		}
	}
	add(0)
	for _, x := range q.Sites {
		add(uint64(max(x.Time, 0)) + 1)
		add(uint64(max(x.Longest, 0)))
		rest.Add(x.Cause, -x.Time)
		x.Time, x.Longest = 0, 0
		add(s.blame(&x))
	}
	for c, ns := range rest.All() {
		if ns > 0 && c != reqtrace.CauseMachine {
			add(uint64(ns) + 1)
			add(0)
			add(uint64(c))
		}
	}
	add(0)
	s.scratch = b
	return s.copy(b)
}

// copy keeps a record.
func (s *store) copy(record []byte) spot {
	const longest = binary.MaxVarintLen64
	n := len(s.chunks)
	if n == 0 || chunkSize-len(s.chunks[n-1]) < longest+len(record) {
		s.chunks = append(s.chunks, make([]byte, 0, max(chunkSize, longest+len(record))))
		n++
	}
	c := &s.chunks[n-1]
	x := spot(n-1)<<16 | spot(len(*c))
	*c = append(binary.AppendUvarint(*c, uint64(len(record))), record...)
	return x
}

func (s *store) record(x spot) []byte {
	b := s.chunks[x>>16][x&(1<<16-1):]
	length, n := binary.Uvarint(b)
	return b[n:][:length]
}

// blame returns the number of a blame. Most requests have the same few, and comparing them takes
// less time than hashing nine strings.
func (s *store) blame(x *reqtrace.Blame) uint64 {
	for _, id := range s.recent {
		if s.blames[id] == *x {
			return id
		}
	}
	id := intern(&s.blames, s.byBlame, *x)
	s.recent[s.added%len(s.recent)] = id
	s.added++
	return id
}

func intern[T comparable](list *[]T, by map[T]uint64, x T) uint64 {
	id, ok := by[x]
	if !ok {
		id = uint64(len(*list))
		*list = append(*list, x)
		by[x] = id
	}
	return id
}

// get appends the path of q with what ran, and its times.
func (s *store) get(q *request, path []reqtrace.Tile, entries []entry) ([]reqtrace.Tile, []entry) {
	b := s.record(q.spot)
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	at := time.Duration(0)
	runs := func(until time.Duration) {
		if until > at {
			path = append(path, reqtrace.Tile{Start: at, End: until, Cause: reqtrace.CauseRunning})
		}
	}
	for after := next(); after > 0; after = next() {
		start := at + time.Duration(after-1)
		runs(start)
		at = start + time.Duration(next())
		path = append(path, reqtrace.Tile{Start: start, End: at, Cause: reqtrace.Cause(next()), Site: s.sites[next()]})
	}
	runs(time.Duration(q.took))
	for ns := next(); ns > 0; ns = next() {
		entries = append(entries, entry{time: int64(ns - 1), longest: int64(next()), blame: next()})
	}
	return path, entries
}

// number returns an id as a number, which is not 0.
func number(id string) uint64 {
	if n, err := strconv.ParseUint(id, 16, 64); err == nil && n != 0 {
		return n
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	return max(h.Sum64(), 1)
}
