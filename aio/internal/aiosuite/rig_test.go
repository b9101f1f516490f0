package aiosuite

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

const (
	// stuck is after how long a WaitIO that returns nothing has lost an operation.
	stuck = time.Minute
	// soon is long for a transfer and short for a test. No result depends on it: tests check only that
	// nothing happened until then.
	soon = 10 * time.Millisecond
)

// rig is a Watcher and a ledger of its operations, each of which has to be returned once.
type rig struct {
	t   *testing.T
	sys System
	w   *aio.Watcher

	large int // more than a connection buffers

	mu      sync.Mutex
	tickets []*ticket
	direct  int           // of these, by TryWrite
	last    map[queue]int // the last one returned
	peers   []net.Conn    // closed at the end
	rough   bool          // several goroutines submit, in no order
	over    bool          // WaitIO has returned ErrWatcherClosed
	accepts uint64        // that brought a connection
	more    uint64        // results with More
}

// queue is one direction of a connection.
type queue struct {
	conn     *aio.Conn
	listener *aio.Listener
	op       aio.Op
}

// ticket is the tag of an operation.
type ticket struct {
	number   int
	op       aio.Op
	conn     *aio.Conn     // nil of an accept, dial or post
	listener *aio.Listener // of an accept
	to       net.Addr      // of a dial
	buf      []byte
	vec      [][]byte // of a Writev: the parts of buf
	full     bool
	deadline time.Time

	multishot bool        // of an accept
	conns     []*aio.Conn // that it has brought
	limit     int         // of a read without a buffer
	late      bool        // submitted after a Close
	crowded   bool        // may have found a full queue
	cancelled bool        // found by Cancel
	times     int         // how often it was returned
	result    aio.Result
	data      []byte // of a read: a copy
}

// ProactorReadLimit implements [proactor.Limiter].
func (k *ticket) ProactorReadLimit() int { return k.limit }

func newRig(t *testing.T, sys System, o aio.Options) *rig {
	r := &rig{t: t, sys: sys, large: 16 * realBuffer, last: map[queue]int{}}
	if sys.Bubble {
		r.large = 16 * fakeBuffer
	}
	r.open(o)
	t.Cleanup(func() { r.end() })
	return r
}

// open makes a Watcher in place of the last one, which has no operations.
func (r *rig) open(o aio.Options) {
	if r.w != nil {
		_ = r.w.Close()
	}
	r.w = r.sys.New(r.t, o)
}

func (r *rig) pair() (conn *aio.Conn, peer net.Conn) {
	r.t.Helper()
	own, peer := r.raw()
	conn, err := r.w.Attach(own)
	Must(r.t, err)
	return conn, peer
}

// raw makes a connection that is not attached.
func (r *rig) raw() (own, peer net.Conn) {
	own, peer = r.sys.Pair(r.t)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peers = append(r.peers, own, peer)
	return own, peer
}

func (r *rig) submit(k ticket) (*ticket, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.number = len(r.tickets)
	var err error
	switch {
	case k.op == aio.OpPost:
		err = r.w.Post(&k)
	case k.op == aio.OpDial:
		err = r.w.Dial(&k, k.to, k.deadline)
	case k.multishot:
		err = k.listener.AcceptMultishot(&k)
	case k.op == aio.OpAccept:
		err = k.listener.Accept(&k, k.deadline)
	case k.op == aio.OpWrite && k.vec != nil:
		vec := slices.Clone(k.vec)
		err = k.conn.Writev(&k, vec, k.deadline)
		clear(vec) // the caller owns it
	case k.op == aio.OpWrite:
		err = k.conn.Write(&k, k.buf, k.deadline)
	case k.op == aio.OpCloseWrite:
		err = k.conn.CloseWrite(&k, k.deadline)
	case k.op == aio.OpClose:
		err = k.conn.CloseAfterWrites(&k, k.deadline)
	case k.full:
		err = k.conn.ReadFull(&k, k.buf, k.deadline)
	default:
		err = k.conn.Read(&k, k.buf, k.deadline)
	}
	if err != nil {
		return nil, err
	}
	r.tickets = append(r.tickets, &k)
	return &k, nil
}

func (r *rig) must(k ticket) *ticket {
	r.t.Helper()
	got, err := r.submit(k)
	if err != nil {
		r.t.Fatalf("submitting operation %d: %v", len(r.tickets), err)
	}
	return got
}

// refuse submits operations, which all end with that error.
func (r *rig) refuse(want error, ks ...ticket) {
	r.t.Helper()
	var refused []*ticket
	for _, k := range ks {
		refused = append(refused, r.must(k))
	}
	r.until(refused...)
	for _, k := range refused {
		r.want(k, 0, want)
	}
}

func (r *rig) read(conn *aio.Conn, n int) *ticket {
	r.t.Helper()
	return r.must(ticket{conn: conn, buf: make([]byte, n)})
}

func (r *rig) readSwap(conn *aio.Conn) *ticket {
	r.t.Helper()
	return r.must(ticket{conn: conn})
}

func (r *rig) readFull(conn *aio.Conn, n int, by time.Time) *ticket {
	r.t.Helper()
	return r.must(ticket{conn: conn, buf: make([]byte, n), full: true, deadline: by})
}

// write is a Write, or with sizes of parts a Writev: see cut.
func (r *rig) write(conn *aio.Conn, buf []byte, parts ...int) *ticket {
	r.t.Helper()
	return r.must(ticket{op: aio.OpWrite, conn: conn, buf: buf, vec: cut(buf, parts...)})
}

// cut returns buf in parts of these sizes, the last of which repeats and is not 0. Without sizes it
// returns nil.
func cut(buf []byte, sizes ...int) (vec [][]byte) {
	for i := 0; len(buf) > 0 && len(sizes) > 0; i++ {
		n := min(sizes[min(i, len(sizes)-1)], len(buf))
		vec, buf = append(vec, buf[:n]), buf[n:]
	}
	return vec
}

func (r *rig) closeWrite(conn *aio.Conn, by time.Time) *ticket {
	r.t.Helper()
	return r.must(ticket{op: aio.OpCloseWrite, conn: conn, deadline: by})
}

func (r *rig) closeAfterWrites(conn *aio.Conn, by time.Time) *ticket {
	r.t.Helper()
	return r.must(ticket{op: aio.OpClose, conn: conn, deadline: by})
}

// wait is one WaitIO. It enters the results into the ledger.
func (r *rig) wait() ([]aio.Result, error) {
	w := r.w
	watchdog := time.AfterFunc(stuck, func() {
		r.t.Errorf("WaitIO has returned nothing for %v: an operation is lost", stuck)
		_ = w.Close()
	})
	defer watchdog.Stop()
	results, err := w.WaitIO()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range results {
		r.enter(&results[i])
	}
	if err == nil && len(results) == 0 {
		r.t.Error("WaitIO returned neither a result nor an error")
	}
	return results, err
}

func (r *rig) results() []aio.Result {
	r.t.Helper()
	results, err := r.wait()
	if err != nil {
		r.t.Fatal("WaitIO:", err)
	}
	return results
}

// enter enters a result into the ledger. The caller holds mu.
func (r *rig) enter(res *aio.Result) {
	r.t.Helper()
	k, ok := res.Tag.(*ticket)
	if !ok || k.number >= len(r.tickets) || r.tickets[k.number] != k {
		r.t.Errorf("a result of no operation: %+v", *res)
		return
	}
	k.result = *res
	if res.More {
		r.more++
	} else {
		k.times++
	}
	if k.op == aio.OpAccept && res.Conn != nil {
		k.conns = append(k.conns, res.Conn)
		r.accepts++
	}
	if k.op == aio.OpRead && res.Size <= len(res.Buffer) {
		k.data = append([]byte(nil), res.Buffer[:res.Size]...)
	}
	if flaw := cmp.Or(k.mismatch(), k.flaw()); flaw != "" {
		r.t.Errorf("operation %d, %v of %d bytes: %s: %+v", k.number, k.op, len(k.buf), flaw, *res)
	}
	q := queue{k.conn, k.listener, k.op}
	if k.op == aio.OpCloseWrite || k.op == aio.OpClose {
		q.op = aio.OpWrite
	}
	if last, any := r.last[q]; any && k.number < last && !r.rough && k.op != aio.OpDial {
		r.t.Errorf("operation %d came back after operation %d of the same direction", k.number, last)
	}
	switch res.Error {
	case aio.ErrDeadline, aio.ErrCancelled: // may overtake
	case aio.ErrQueueFull, aio.ErrEmptyBuffer, aio.ErrClosed: // refused
	default:
		r.last[q] = k.number
	}
}

// mismatch returns how the result does not fit the operation, or "".
func (k *ticket) mismatch() string {
	res := &k.result
	made := k.op == aio.OpAccept || k.op == aio.OpDial
	switch {
	case k.times > 1 || k.times > 0 && res.More:
		return fmt.Sprintf("it was returned %d times", k.times)
	case res.More && !k.multishot, k.multishot && res.More != (res.Error == nil):
		return "only a multishot accept has More, until its error"
	case res.Op != k.op:
		return "it is of another type"
	case made && (res.Conn == nil) != (res.Error != nil):
		return "it has either a connection or an error"
	case !made && res.Conn != k.conn:
		return "it is of another connection"
	}
	return ""
}

// flaw returns what is wrong with the size, buffer or error of the result, or "".
func (k *ticket) flaw() string {
	res := &k.result
	transfers := k.op == aio.OpRead || k.op == aio.OpWrite
	own := len(k.buf) > 0 && k.vec == nil
	swap := transfers && !own && k.vec == nil
	switch {
	case !transfers && (res.Size != 0 || res.Buffer != nil):
		return "it transfers nothing"
	case k.op == aio.OpPost && res.Error != nil && res.Error != aio.ErrQueueFull:
		return "a post does not fail"
	case k.vec != nil && (res.Buffer != nil || res.Size < 0 || res.Size > len(k.buf)):
		return "a Writev has a size, and no buffer"
	case transfers && k.vec == nil && (res.Size < 0 || res.Size > len(res.Buffer)):
		return "its buffer is smaller"
	case own && (len(res.Buffer) != len(k.buf) || &res.Buffer[0] != &k.buf[0] || res.Swap):
		return "it did not get its own buffer back"
	case swap && (len(res.Buffer) != res.Size || cap(res.Buffer) != res.Size || !res.Swap && res.Size > 0):
		return "it did not get a swap buffer of its size"
	case transfers && res.Error == nil && res.Size == 0:
		return "it has neither bytes nor an error"
	case res.Error == nil && (k.op == aio.OpWrite || k.full) && res.Size != len(k.buf):
		return "it has a part, and no error"
	case res.Error == aio.ErrDeadline && (k.deadline.IsZero() || time.Now().Before(k.deadline)):
		return "its deadline has not passed"
	case res.Error == aio.ErrCancelled && !k.cancelled:
		return "Cancel has not found it"
	case res.Error == io.EOF && k.op == aio.OpWrite:
		return "a write does not find the peer's end"
	case transfers && slices.Contains([]error{syscall.ECANCELED, syscall.EAGAIN, syscall.ENOBUFS}, res.Error):
		return "the backend has to handle this error"
	}
	return ""
}

func (r *rig) until(these ...*ticket) {
	r.t.Helper()
	for _, k := range these {
		for r.times(k) == 0 {
			r.results()
		}
	}
}

func (r *rig) times(k *ticket) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return k.times
}

func (r *rig) want(k *ticket, size int, err error) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if k.times != 1 || k.result.Size != size || k.result.Error != err {
		r.t.Errorf("operation %d was returned %d times, with size %d and error %v; want size %d and error %v",
			k.number, k.times, k.result.Size, k.result.Error, size, err)
	}
}

func (r *rig) end() {
	_ = r.w.Close()
	r.drain()
	for _, c := range r.peers {
		_ = c.Close()
	}
	r.checkLedger()
}

// drain takes the results that a closed Watcher still has.
func (r *rig) drain() {
	r.t.Helper()
	for !r.over {
		_, err := r.wait()
		if err != nil {
			r.over = true
			if err != aio.ErrWatcherClosed {
				r.t.Errorf("WaitIO of a closed watcher: %v", err)
			}
		}
	}
}

// checkLedger checks that every operation was returned once, and that Stats agrees.
func (r *rig) checkLedger() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var in, out uint64
	for _, k := range r.tickets {
		if k.times != 1 {
			r.t.Errorf("operation %d (%v, %d bytes) was returned %d times", k.number, k.op, len(k.buf), k.times)
		}
		if k.op == aio.OpRead {
			in += uint64(k.result.Size)
		} else {
			out += uint64(k.result.Size)
		}
	}
	s := r.w.Stats()
	if n := uint64(len(r.tickets) - r.direct); s.Operations+s.Refused != n || s.Results != n+r.more {
		r.t.Errorf("at the end: %+v; want %d operations, refused or not, and %d results more", s, n, r.more)
	}
	if s.Pending != 0 || s.Conns != 0 || s.Listeners != 0 || s.Accepted != r.accepts {
		r.t.Errorf("at the end: %+v; want %d accepted, no connection, nothing pending", s, r.accepts)
	}
	if s.QueuedBytes != 0 {
		r.t.Errorf("all was returned, and %d bytes are queued", s.QueuedBytes)
	}
	if s.BytesRead != in || s.BytesWritten != out {
		r.t.Errorf("%d bytes read and %d written; the results say %d and %d", s.BytesRead, s.BytesWritten, in, out)
	}
}

// pattern returns n bytes of a stream, which depend on its id and on their position.
func pattern(id, from, n int) []byte {
	buf := make([]byte, n)
	for i := range buf {
		at := from + i
		buf[i] = byte(at*131 + at>>8*17 + id*29)
	}
	return buf
}
