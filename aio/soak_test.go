package aio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

// TestSoak drives both backends for as long as make soak says: connections come and go, send and
// are sent bytes of all sizes, time out, are half-closed, reset and freed. What it asks for at the
// end: each operation was returned once, every byte came back but on connections that the server
// closed on purpose, and neither descriptors, goroutines, the heap nor the process grew. A
// collector is at work all the while.
func TestSoak(t *testing.T) {
	length := testutil.Soak()
	if length == 0 {
		t.Skip("make soak runs it")
	}
	press(t)
	for _, b := range []aio.Backend{aio.BackendIOUring, aio.BackendEpoll} {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			w, err := aio.New(aio.Options{Backend: b})
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			soak(t, w, length)
		})
	}
}

// soaker is an echo server that counts, and its clients.
type soaker struct {
	w  *aio.Watcher
	ln net.Listener  // whose connections are attached
	l  *aio.Listener // whose connections are accepted in the loop

	submitted, returned, twice, late  atomic.Int64 // operations
	conns, messages, bytes            atomic.Int64 // of clients
	resets, halves, slow, freed, lost atomic.Int64
	hung                              atomic.Int64
	wrong                             atomic.Pointer[string]
}

// soakOp is the tag of an operation.
type soakOp struct {
	returned bool
	full     bool
}

func soak(t *testing.T, w *aio.Watcher, length time.Duration) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &soaker{w: w, ln: ln, l: l}
	for range 16 {
		s.await()
	}
	var server, clients sync.WaitGroup
	server.Go(s.accept)
	server.Go(s.serve)
	end := time.Now().Add(length)
	seed := rand.Uint64()
	t.Log("the clients' seed:", seed)
	for i := range uint64(60) {
		clients.Go(func() { s.client(rand.New(rand.NewPCG(seed, i)), end) })
	}
	var g growth
	for time.Now().Before(end) && s.wrong.Load() == nil {
		time.Sleep(min(time.Minute, length/12, time.Until(end)))
		t.Log(s, g.look(t))
	}
	clients.Wait()
	_ = ln.Close()
	_ = l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.Shutdown(ctx); err != nil {
		t.Error("Shutdown:", err)
	}
	server.Wait()
	if why := s.wrong.Load(); why != nil {
		t.Error(*why)
	}
	if s.submitted.Load() != s.returned.Load() || s.twice.Load() != 0 {
		t.Errorf("%d operations submitted, %d returned, %d of them twice", s.submitted.Load(), s.returned.Load(),
			s.twice.Load())
	}
	if lost, freed := s.lost.Load(), s.freed.Load(); lost > freed {
		t.Errorf("%d connections were cut, and the server has closed %d", lost, freed)
	}
	g.judge(t)
	t.Log("at the end:", s, w.Stats())
}

func (s *soaker) String() string {
	return fmt.Sprintf("%d connections, %d messages, %d MiB, %d operations (%d past their deadline), %d resets, %d "+
		"half-closed, %d slow readers, %d hung, %d freed in flight, %d cut;",
		s.conns.Load(), s.messages.Load(), s.bytes.Load()>>20, s.returned.Load(),
		s.late.Load(), s.resets.Load(), s.halves.Load(), s.slow.Load(), s.hung.Load(), s.freed.Load(), s.lost.Load())
}

func (s *soaker) fail(format string, a ...any) {
	why := fmt.Sprintf(format, a...)
	s.wrong.CompareAndSwap(nil, &why)
}

func (s *soaker) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		conn, err := s.w.Attach(c)
		if err != nil {
			s.fail("Attach: %v", err)
			return
		}
		s.read(conn, rand.IntN(4))
	}
}

// await submits an accept.
func (s *soaker) await() {
	s.submitted.Add(1)
	if err := s.l.Accept(&soakOp{}, none); err != nil {
		s.submitted.Add(-1)
		if err != aio.ErrWatcherClosed && err != aio.ErrClosed { // at the end
			s.fail("accept: %v", err)
		}
	}
}

// read submits the next read of c, of one kind or another.
func (s *soaker) read(c *aio.Conn, kind int) {
	op := &soakOp{}
	var err error
	s.submitted.Add(1)
	switch kind {
	case 0:
		err = c.Read(op, nil, none)
	case 1:
		err = c.Read(op, make([]byte, 1+rand.IntN(8192)), none)
	case 2:
		op.full = true
		err = c.ReadFull(op, make([]byte, 1+rand.IntN(512)),
			time.Now().Add(time.Duration(rand.IntN(30))*time.Millisecond))
	default:
		err = c.Read(op, make([]byte, 1024), time.Now().Add(time.Duration(rand.IntN(30))*time.Millisecond))
	}
	if err != nil {
		s.submitted.Add(-1)
		if err != aio.ErrWatcherClosed && err != aio.ErrClosed { // closed in flight
			s.fail("read: %v", err)
		}
	}
}

func (s *soaker) serve() {
	for {
		results, err := s.w.WaitIO()
		if err == aio.ErrWatcherClosed {
			return
		}
		if err != nil {
			s.fail("WaitIO: %v", err)
			return
		}
		for _, r := range results {
			op := r.Tag.(*soakOp)
			if op.returned {
				s.twice.Add(1)
			}
			op.returned = true
			s.returned.Add(1)
			s.answer(r)
		}
	}
}

// answer sends back what was read, and then reads on.
func (s *soaker) answer(r aio.Result) {
	if r.Op == aio.OpAccept {
		if r.Error == nil {
			s.read(r.Conn, rand.IntN(4))
			s.await()
		} else if r.Error != aio.ErrClosed {
			s.fail("accept: %v", r.Error)
		}
		return
	}
	if r.Error == aio.ErrDeadline {
		s.late.Add(1)
	} else if r.Error != nil && (r.Error != io.EOF || r.Size == 0) {
		_ = r.Conn.Close()
		return
	}
	if r.Op == aio.OpWrite || r.Size == 0 {
		s.read(r.Conn, rand.IntN(4))
		return
	}
	s.submitted.Add(1)
	err := r.Conn.Write(&soakOp{}, bytes.Clone(r.Buffer[:r.Size]), none)
	if err != nil {
		s.submitted.Add(-1)
		return
	}
	if r.Size > 7000 && rand.IntN(200) == 0 {
		s.freed.Add(1)
		_ = r.Conn.Close()
	}
}

// client connects again and again, and checks what comes back.
func (s *soaker) client(rng *rand.Rand, end time.Time) {
	for time.Now().Before(end) && s.wrong.Load() == nil {
		to := s.ln.Addr()
		if rng.IntN(2) == 0 {
			to = s.l.Addr()
		}
		c, err := net.Dial("tcp", to.String())
		if err != nil {
			s.fail("dial: %v", err)
			return
		}
		s.conns.Add(1)
		if rng.IntN(30) == 0 { // it says nothing
			s.hang(rng)
		}
		for range 1 + rng.IntN(20) {
			if !s.exchange(c.(*net.TCPConn), rng) {
				break
			}
			time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
		}
		_ = c.Close()
	}
}

// hang is the time for which a client neither sends nor reads.
func (s *soaker) hang(rng *rand.Rand) {
	s.hung.Add(1)
	time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
}

// exchange sends a message and reads it back. It reports whether the connection is still good.
func (s *soaker) exchange(c *net.TCPConn, rng *rand.Rand) bool {
	message := make([]byte, 1+rng.IntN(1<<rng.IntN(18)))
	for i := range message {
		message[i] = byte(rng.Uint32())
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // each time: on a busy machine a connection's twenty took as long
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(message)
		sent <- err
	}()
	switch rng.IntN(40) {
	case 0: // gone in the middle
		s.resets.Add(1)
		_ = c.SetLinger(0)
		_ = c.Close()
		<-sent
		return false
	case 1:
		s.slow.Add(1)
		time.Sleep(100 * time.Millisecond)
	case 2: // gone when what it has sent came back for long, and was not read
		s.hang(rng)
		_ = c.SetLinger(rng.IntN(2) - 1) // 0: a reset, -1: not
		_ = c.Close()
		<-sent
		return false
	}
	back := make([]byte, len(message))
	n, err := io.ReadFull(c, back)
	if !bytes.Equal(back[:n], message[:n]) {
		s.fail("other bytes came back than were sent")
	}
	err = errors.Join(err, <-sent)
	if err != nil {
		s.lost.Add(1) // freed by the server, which closes it
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			s.fail("no answer for a minute: %d of %d bytes; %v", n, len(message), s.w.Stats())
		}
		return false
	}
	s.messages.Add(1)
	s.bytes.Add(int64(len(message)))
	if rng.IntN(30) == 0 {
		s.halves.Add(1)
		_ = c.CloseWrite()
		if _, err := c.Read(back); err != io.EOF {
			s.fail("after CloseWrite: %v, want EOF", err)
		}
		return false
	}
	return true
}
