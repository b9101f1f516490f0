package poller

import (
	"sync"
	"syscall"
	"time"
)

// script is a kernel whose events and sockets are written down by the test, in the form in which
// kqueue(2) describes them.
type script struct {
	KqueueCalls // those that are not written down: a test that comes to one panics

	mu        sync.Mutex
	waits     [][]Kevent        // what each fetch returns
	waitErrs  []error           // and fails with, first
	blocked   int               // waits that blocked
	arrive    chan struct{}     // ends a wait that blocks: a wake, or close
	changes   []Kevent          // that were made
	changeErr map[Kevent]error  // of changes, their Udata aside
	recvs     map[int][]receipt // what each recv(2) says; EAGAIN when there is no more
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
		arrive: make(chan struct{}, 1), changeErr: map[Kevent]error{},
		recvs: map[int][]receipt{}, sends: map[int][]receipt{}, nextFd: 5,
	}
}

func (s *script) Change(changes []Kevent) error {
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

func (s *script) Wait(events []Kevent, timeout time.Duration) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if len(s.waitErrs) > 0 {
			err := s.waitErrs[0]
			s.waitErrs = s.waitErrs[1:]
			return 0, err
		}
		if s.pipe > 0 {
			events[0] = Kevent{Ident: wakeFd, Filter: EVFILT_READ, Data: int64(s.pipe)}
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

func (s *script) transfer(of map[int][]receipt, fd int) (int, syscall.Errno) {
	s.calls++
	if len(of[fd]) == 0 {
		return 0, syscall.EAGAIN
	}
	r := of[fd][0]
	of[fd] = of[fd][1:]
	return r.n, r.errno
}

func (s *script) Recv(fd int, _ []byte) (int, syscall.Errno)    { return s.transfer(s.recvs, fd) }
func (s *script) Send(fd int, _ []byte) (int, syscall.Errno)    { return s.transfer(s.sends, fd) }
func (s *script) Sendv(fd int, _ [][]byte) (int, syscall.Errno) { return s.transfer(s.sends, fd) }
func (s *script) ShutWrite(int) syscall.Errno                   { return 0 }
func (s *script) Unlinger(int)                                  {}
func (s *script) CloseFd(fd int)                                { s.closed = append(s.closed, fd) }
func (s *script) Pipe() (int, int, error)                       { return wakeFd, wakeFd + 1, s.pipeErr }

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
