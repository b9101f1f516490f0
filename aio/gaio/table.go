package gaio

import (
	"io"
	"log/slog"
	"net"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"evenkeel.dev/aio"
)

// kind is a kind of operation, and how it begins.
type kind struct {
	op    OpType
	begin func(c *aio.Conn, tag any, buf []byte, deadline time.Time) error
}

var (
	read     = &kind{OpRead, (*aio.Conn).Read}
	readFull = &kind{OpRead, (*aio.Conn).ReadFull}
	write    = &kind{OpWrite, (*aio.Conn).Write}
)

// op is the tag of an operation with a context. Otherwise the tag is the connection. Both keep the
// connection alive.
type op struct {
	ctx  any
	conn net.Conn
}

// refused is the tag of a post that returns an operation without a connection.
type refused struct {
	op
	kind *kind
	buf  []byte
	err  error
}

// ops are reused, so that an operation with a context allocates nothing.
var ops = sync.Pool{New: func() any { return new(op) }}

// table maps net.Conns to handles. It is not in the Watcher, so that the garbage collector finds a
// forgotten Watcher.
//
// Lock order: waiting, mu. mu is not held during calls of the user's code or of aio.
type table struct {
	watcher   *aio.Watcher
	forgotten func(*entry) // forget, allocated once
	affinity  atomic.Int32 // the CPU to bind to, plus one. 0: none

	waiting sync.Mutex // in WaitIO. It guards results
	results []OpResult

	mu       sync.Mutex
	attached sync.Cond          // over mu: a delegation has ended
	conns    map[uintptr]*entry // by address, which keeps no connection alive
	closed   bool

	gc atomic.Uint32 // connections that the garbage collector found, and that are closed
}

// entry is a delegated connection, guarded by table.mu.
//
//	          delegate             Free, forget, close
//	(none) ─────────────> attaching ───> attached ───> (none)
//	                          └──> (none) when it was refused
type entry struct {
	key   uintptr
	ident weak.Pointer[byte] // of what is at key
	conn  *aio.Conn          // nil while it is attaching
}

// identity returns the address of conn, a pointer, because a copy would be another connection.
func identity(conn net.Conn) (*byte, error) {
	v := reflect.ValueOf(conn)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, ErrUnsupported
	}
	return (*byte)(v.UnsafePointer()), nil
}

func addr(at *byte) uintptr { return reflect.ValueOf(at).Pointer() }

// find returns the entry of the connection at that address, or nil. It releases mu, which the
// caller holds, during a delegation. The weak pointer tells whether the address was reused.
func (t *table) find(at *byte) *entry {
	for {
		e := t.conns[addr(at)]
		if e == nil || e.ident.Value() != at {
			return nil
		}
		if e.conn != nil {
			return e
		}
		t.attached.Wait()
	}
}

// submit submits an operation. A refusal comes as a result.
func (t *table) submit(k *kind, ctx any, conn net.Conn, buf []byte, deadline time.Time) error {
	at, err := identity(conn)
	if err != nil {
		return err
	}
	if len(buf) == 0 && (buf != nil || k != read) {
		return ErrEmptyBuffer
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return ErrWatcherClosed
	}
	e := t.find(at)
	if e == nil {
		e, err = t.delegate(conn, at)
	}
	t.mu.Unlock()
	tag := tagOf(ctx, conn)
	if err == nil {
		err = k.begin(e.conn, tag, buf, deadline)
	}
	if err == nil {
		return nil
	}
	if o, ok := tag.(*op); ok {
		keep(o)
	}
	if err == ErrWatcherClosed {
		return err
	}
	return t.watcher.Post(&refused{op{ctx, conn}, k, buf, refusal(err)})
}

// delegate attaches conn. It releases mu, which the caller holds, because conn's Close may be the
// user's code and may use the Watcher.
func (t *table) delegate(conn net.Conn, at *byte) (*entry, error) {
	e := &entry{key: addr(at), ident: weak.Make(at)}
	before := t.conns[e.key] // a collected connection's
	t.conns[e.key] = e
	t.mu.Unlock()
	if before != nil {
		t.collect(before)
	}
	c, err := t.watcher.Attach(conn)
	if err == nil {
		runtime.AddCleanup(at, t.forgotten, e)
	}
	t.mu.Lock()
	e.conn = c
	t.attached.Broadcast()
	if err != nil && t.conns[e.key] == e {
		delete(t.conns, e.key)
	}
	return e, err
}

// forget is the cleanup of a collected connection. No operation of it is pending.
func (t *table) forget(e *entry) {
	t.mu.Lock()
	known := t.conns[e.key] == e
	if known {
		delete(t.conns, e.key)
	}
	t.mu.Unlock()
	if known {
		t.collect(e)
	}
}

func (t *table) collect(e *entry) {
	_ = e.conn.Close()
	t.gc.Add(1)
}

func (t *table) free(conn net.Conn) error {
	at, err := identity(conn)
	if err != nil {
		return err
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return ErrWatcherClosed
	}
	e := t.find(at)
	if e != nil {
		delete(t.conns, e.key)
	}
	t.mu.Unlock()
	if e != nil {
		return e.conn.Close()
	}
	_ = conn.Close() // never delegated, or freed
	return nil
}

func (t *table) close() {
	t.mu.Lock()
	t.closed = true
	clear(t.conns)
	t.mu.Unlock()
	_ = t.watcher.Close()
}

func (t *table) waitIO() ([]OpResult, error) {
	if !t.waiting.TryLock() {
		return nil, ErrWaiting
	}
	defer t.waiting.Unlock()
	if t.affinity.Load() != 0 {
		t.bind()
	}
	clear(t.results) // drop connections
	t.results = t.results[:0]
	results, err := t.watcher.WaitIO()
	if err != nil {
		return nil, err
	}
	for i := range results {
		t.results = append(t.results, result(&results[i]))
	}
	return t.results, nil
}

func result(r *aio.Result) OpResult {
	g := OpResult{Operation: r.Op, Buffer: r.Buffer, IsSwapBuffer: r.Swap, Size: r.Size, Error: r.Error}
	if r.Error == aio.ErrClosed {
		g.Error = io.ErrClosedPipe
	}
	switch tag := r.Tag.(type) {
	case *op:
		g.Context, g.Conn = tag.ctx, tag.conn
		keep(tag)
	case *refused:
		g.Operation, g.Context, g.Conn, g.Buffer, g.Error = tag.kind.op, tag.ctx, tag.conn, tag.buf, tag.err
	case net.Conn:
		g.Conn = tag
	}
	return g
}

func tagOf(ctx any, conn net.Conn) any {
	if ctx == nil {
		return conn
	}
	o := ops.Get().(*op)
	*o = op{ctx, conn}
	return o
}

func keep(o *op) {
	*o = op{}
	ops.Put(o)
}

// setAffinity returns over after Close.
func (t *table) setAffinity(cpu int, over error) error {
	if !mayRunOn(cpu) {
		return ErrCPUID
	}
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return over
	}
	t.affinity.Store(int32(cpu) + 1)
	return nil
}

// bind binds the goroutine in WaitIO, if the system permits it.
func (t *table) bind() {
	if cpu := int(t.affinity.Swap(0)) - 1; cpu >= 0 {
		runtime.LockOSThread()
		if err := bindThread(cpu); err != nil {
			slog.Default().Warn("gaio: the thread of WaitIO could not be bound", "cpu", cpu, "error", err)
		}
	}
}
