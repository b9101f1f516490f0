package poller

import (
	"errors"
	"io"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/sys"
)

func open(t *testing.T, p *Poller) *proactor.Desc {
	t.Helper()
	d := &proactor.Desc{}
	if err := p.Open(nil, d); err != nil {
		t.Fatal(err)
	}
	return d
}

func newKqueue(t *testing.T, s *script) *Poller {
	t.Helper()
	p, err := NewKqueueOver(s, batch)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// outcome is how an operation stands.
type outcome struct {
	Size int
	Err  error
	Over bool
}

// TestKqueueEvents plays sequences of events: fd 5 is the only descriptor, its generation 1.
func TestKqueueEvents(t *testing.T) {
	const gen = 1
	read := func(flags uint16) sys.Kevent {
		return sys.Kevent{Ident: 5, Filter: sys.EVFILT_READ, Flags: sys.EV_CLEAR | flags, Udata: gen}
	}
	write := func(flags uint16) sys.Kevent {
		return sys.Kevent{Ident: 5, Filter: sys.EVFILT_WRITE, Flags: sys.EV_CLEAR | flags, Udata: gen}
	}
	again := receipt{0, syscall.EAGAIN}
	for _, c := range []struct {
		name  string
		kind  proactor.Kind
		waits [][]sys.Kevent
		io    []receipt // of the direction of kind, the first at Start
		want  outcome   // after all waits
		calls int       // of recv or send
	}{
		// FreeBSD kqueue(2), EVFILT_READ: "Sockets ... return when there is data to be read ...
		// data contains the number of bytes of protocol data available to read".
		{"data", proactor.Recv, [][]sys.Kevent{{read(0)}}, []receipt{again, {3, 0}}, outcome{3, nil, true}, 2},
		// The write filter says nothing of reads: without its own edge, a read is not tried.
		{"write edge alone", proactor.Recv, [][]sys.Kevent{{write(0)}}, []receipt{again}, outcome{}, 1},
		// Both filters report in one call, each in its own event.
		{
			"both filters", proactor.Recv,
			[][]sys.Kevent{{write(0), read(0)}},
			[]receipt{again, {3, 0}},
			outcome{3, nil, true},
			2,
		},
		// The event is "the state at the time of the report": data that somebody took meanwhile.
		{
			"data taken by another", proactor.Recv,
			[][]sys.Kevent{{read(0)}, {}, {read(0)}},
			[]receipt{again, again, {2, 0}},
			outcome{2, nil, true},
			3,
		},
		// EV_EOF: "If the read direction of the socket has shutdown, then the filter also sets
		// EV_EOF in flags, and returns the socket error (if any) in fflags".
		{
			"end", proactor.Recv,
			[][]sys.Kevent{{read(sys.EV_EOF)}},
			[]receipt{again, {0, 0}},
			outcome{0, io.EOF, true},
			2,
		},
		// "It is possible for EOF to be returned ... while there is still data pending in the
		// socket buffer": libevent's pull request 103 shows 12 bytes with EV_EOF.
		{
			"end with data", proactor.Recv,
			[][]sys.Kevent{{read(sys.EV_EOF)}},
			[]receipt{again, {12, 0}},
			outcome{12, nil, true},
			2,
		},
		{
			"reset", proactor.Recv,
			[][]sys.Kevent{{read(sys.EV_EOF)}},
			[]receipt{again, {0, syscall.ECONNRESET}},
			outcome{0, syscall.ECONNRESET, true},
			2,
		},
		// EVFILT_WRITE: "data will contain the amount of space remaining in the write buffer".
		{"room", proactor.Send, [][]sys.Kevent{{write(0)}}, []receipt{again, {8, 0}}, outcome{8, nil, true}, 2},
		{"read edge alone", proactor.Send, [][]sys.Kevent{{read(0)}}, []receipt{again}, outcome{}, 1},
		// "The filter will set EV_EOF when the reader disconnects".
		{
			"reader gone", proactor.Send,
			[][]sys.Kevent{{write(sys.EV_EOF)}},
			[]receipt{again, {0, syscall.EPIPE}},
			outcome{0, syscall.EPIPE, true},
			2,
		},
		// Only the read filter tells (Go's runtime/netpoll_kqueue.go).
		{
			"reader gone, told by the read filter",
			proactor.Send,
			[][]sys.Kevent{{read(sys.EV_EOF)}},
			[]receipt{again, {0, syscall.EPIPE}},
			outcome{0, syscall.EPIPE, true},
			2,
		},
		{
			"failed, told by the write filter", proactor.Recv,
			[][]sys.Kevent{{write(sys.EV_EOF)}},
			[]receipt{again, {0, syscall.ECONNRESET}},
			outcome{0, syscall.ECONNRESET, true},
			2,
		},
		// A half-close: the write direction has not ended, and its edge comes later.
		{
			"half-close, then room", proactor.Send,
			[][]sys.Kevent{{read(sys.EV_EOF)}, {write(0)}},
			[]receipt{again, again, {8, 0}},
			outcome{8, nil, true},
			3,
		},
		// ENOBUFS is the operation's, and package aio tries it again.
		{
			"no buffers", proactor.Send,
			[][]sys.Kevent{{write(0)}},
			[]receipt{again, {0, syscall.ENOBUFS}},
			outcome{0, syscall.ENOBUFS, true},
			2,
		},
		// EV_ERROR: the filter is dead, so the socket is asked, once.
		{
			"error, socket failed", proactor.Recv,
			[][]sys.Kevent{{read(sys.EV_ERROR)}},
			[]receipt{again, {0, syscall.ECONNRESET}},
			outcome{0, syscall.ECONNRESET, true},
			2,
		},
		{
			"error of the other filter, socket failed", proactor.Recv,
			[][]sys.Kevent{{write(sys.EV_ERROR)}},
			[]receipt{again, {0, syscall.ECONNRESET}},
			outcome{0, syscall.ECONNRESET, true},
			2,
		},
		{
			"error, socket well", proactor.Recv,
			[][]sys.Kevent{{read(sys.EV_ERROR)}},
			[]receipt{again, again},
			outcome{},
			2,
		},
		// Of a descriptor with the same number before, and of one that never was.
		{
			"stale", proactor.Recv,
			[][]sys.Kevent{{{Ident: 5, Filter: sys.EVFILT_READ, Flags: sys.EV_CLEAR, Udata: gen + 7}}},
			[]receipt{again},
			outcome{},
			1,
		},
		{
			"unknown", proactor.Recv,
			[][]sys.Kevent{{{Ident: 77, Filter: sys.EVFILT_READ, Udata: gen}}},
			[]receipt{again},
			outcome{},
			1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript()
			p := newKqueue(t, s)
			d := open(t, p)
			s.waits = c.waits
			s.recvs[5], s.sends[5] = c.io, slices.Clone(c.io)
			op := &proactor.Op{Desc: d, Kind: c.kind, Buf: make([]byte, 16)}
			if c.kind == proactor.Send {
				op.Buf = op.Buf[:8]
			}
			d.Queues[c.kind.Dir()].Push(op)
			over := p.Start(op)
			for range c.waits {
				done, err := p.Poll(nil)
				if err != nil {
					t.Fatal(err)
				}
				over = over || slices.Contains(done, op)
			}
			got := outcome{op.Size, op.Err, over}
			if diff := cmp.Diff(c.want, got,
				cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if s.calls != c.calls {
				t.Errorf("%d transfers were tried, want %d", s.calls, c.calls)
			}
		})
	}
}

// At EV_EOF no further edge comes, so a short read must not be taken for the last one.
func TestKqueueReadsUntilEnd(t *testing.T) {
	s := newScript()
	p := newKqueue(t, s)
	d := open(t, p)
	s.waits = [][]sys.Kevent{{{
		Ident: 5, Filter: sys.EVFILT_READ, Flags: sys.EV_CLEAR | sys.EV_EOF, Udata: d.Gen,
	}}}
	if _, err := p.Poll(nil); err != nil {
		t.Fatal(err)
	}
	s.recvs[5] = []receipt{{5, 0}, {7, 0}, {0, 0}}
	for i, want := range []outcome{{5, nil, true}, {7, nil, true}, {0, io.EOF, true}} {
		op := &proactor.Op{Desc: d, Buf: make([]byte, 16)}
		over := p.Start(op)
		if got := (outcome{op.Size, op.Err, over}); got != want {
			t.Errorf("read %d: %v, want %v", i, got, want)
		}
	}
}

// An event that was fetched before the descriptor was closed is not the next one's.
func TestKqueueStaleAfterReuse(t *testing.T) {
	s := newScript()
	p := newKqueue(t, s)
	old := open(t, p)
	s.waits = [][]sys.Kevent{{{Ident: 5, Filter: sys.EVFILT_READ, Flags: sys.EV_CLEAR | sys.EV_EOF, Udata: old.Gen}}}
	if err := p.Wait(-1); err != nil { // fetches
		t.Fatal(err)
	}
	p.Release(old)
	fresh := open(t, p) // the same number
	op := &proactor.Op{Desc: fresh, Buf: make([]byte, 16)}
	fresh.Queues[proactor.In].Push(op)
	if p.Start(op) {
		t.Fatal("read nothing")
	}
	if done, err := p.Poll(nil); len(done) != 0 || err != nil || fresh.Ready&proactor.Hup != 0 {
		t.Errorf("Poll: %v, %v; ready %b: the event of another descriptor was handled", done, err, fresh.Ready)
	}
}

func TestKqueueRegisters(t *testing.T) {
	s := newScript()
	p := newKqueue(t, s)
	open(t, p)
	want := []sys.Kevent{
		{Ident: wakeFd, Filter: sys.EVFILT_READ, Flags: sys.EV_ADD},
		{Ident: 5, Filter: sys.EVFILT_READ, Flags: sys.EV_ADD | sys.EV_CLEAR, Udata: 1},
		{Ident: 5, Filter: sys.EVFILT_WRITE, Flags: sys.EV_ADD | sys.EV_CLEAR, Udata: 1},
	}
	if diff := cmp.Diff(want, s.changes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A failed registration is Open's error, and leaves no descriptor.
func TestKqueueChangeFails(t *testing.T) {
	for _, filter := range []int16{sys.EVFILT_READ, sys.EVFILT_WRITE} {
		s := newScript()
		p := newKqueue(t, s)
		s.changeErr[sys.Kevent{Ident: 5, Filter: filter, Flags: sys.EV_ADD | sys.EV_CLEAR}] = syscall.ENOMEM
		if err := p.Open(nil, &proactor.Desc{}); err != syscall.ENOMEM {
			t.Errorf("filter %d: Open: %v, want ENOMEM", filter, err)
		}
		if !slices.Equal(s.closed, []int{5}) {
			t.Errorf("filter %d: closed %v, want the descriptor", filter, s.closed)
		}
	}
}

// script is a kernel whose events and sockets are written down by the test, in the form in which
// kqueue(2) describes them.
type script struct {
	KqueueCalls // those that are not written down: a test that comes to one panics

	mu        sync.Mutex
	waits     [][]sys.Kevent       // what each fetch returns
	waitErrs  []error              // and fails with, first
	blocked   int                  // waits that blocked
	arrive    chan struct{}        // ends a wait that blocks: a wake, or close
	changes   []sys.Kevent         // that were made
	changeErr map[sys.Kevent]error // of changes, their Udata aside
	recvs     map[int][]receipt    // what each recv(2) says; EAGAIN when there is no more
	sends     map[int][]receipt
	calls     int   // of recv and send
	closed    []int // descriptors
	nextFd    int
	pipe      int // bytes in the wake pipe
	pipeErr   error
	ended     bool
	waiting   bool // in a wait that blocks
	torn      bool // the queue was closed meanwhile
}

type receipt struct {
	n     int
	errno syscall.Errno
}

const wakeFd = 90

func newScript() *script {
	return &script{
		arrive: make(chan struct{}, 1), changeErr: map[sys.Kevent]error{},
		recvs: map[int][]receipt{}, sends: map[int][]receipt{}, nextFd: 5,
	}
}

func (s *script) Change(changes []sys.Kevent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		key := c
		key.Udata = 0
		if err := s.changeErr[key]; err != nil {
			return err
		}
		s.changes = append(s.changes, c)
	}
	return nil
}

func (s *script) Wait(events []sys.Kevent, timeout time.Duration) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if len(s.waitErrs) > 0 {
			err := s.waitErrs[0]
			s.waitErrs = s.waitErrs[1:]
			return 0, err
		}
		if s.pipe > 0 {
			events[0] = sys.Kevent{Ident: wakeFd, Filter: sys.EVFILT_READ}
			return 1, nil
		}
		if len(s.waits) > 0 {
			n := copy(events, s.waits[0])
			s.waits = s.waits[1:]
			return n, nil
		}
		if timeout == 0 {
			return 0, nil
		}
		s.blocked++
		s.waiting = true
		s.mu.Unlock()
		select {
		case <-s.arrive:
			s.mu.Lock()
			s.waiting = false
		case <-time.After(timeout):
			s.mu.Lock()
			s.waiting = false
			return 0, nil
		}
	}
}

func (s *script) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.torn = true, s.waiting
}

func (s *script) Dup(any) (int, bool, error) { return s.nextFd, true, nil }

func (s *script) transfer(of map[int][]receipt, fd int) (int, error) {
	s.calls++
	if len(of[fd]) == 0 {
		return 0, syscall.EAGAIN
	}
	r := of[fd][0]
	of[fd] = of[fd][1:]
	if r.errno != 0 {
		return r.n, r.errno
	}
	return r.n, nil
}

func (s *script) Recv(fd int, _ []byte) (int, error)    { return s.transfer(s.recvs, fd) }
func (s *script) Send(fd int, _ []byte) (int, error)    { return s.transfer(s.sends, fd) }
func (s *script) Sendv(fd int, _ [][]byte) (int, error) { return s.transfer(s.sends, fd) }
func (s *script) ShutWrite(int) error                   { return nil }
func (s *script) Unlinger(int)                          {}
func (s *script) CloseFd(fd int)                        { s.closed = append(s.closed, fd) }
func (s *script) Pipe() (int, int, error)               { return wakeFd, wakeFd + 1, s.pipeErr }

func (s *script) Read(_ int, buf []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(buf), s.pipe)
	s.pipe -= n
	return n, nil
}

func (s *script) Write(int, []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pipe++
	select {
	case s.arrive <- struct{}{}:
	default:
	}
	return 1, nil
}

func (s *script) blocks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocked
}
