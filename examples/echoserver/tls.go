//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/netconn"
	"evenkeel.dev/examples/internal/command"
)

const (
	tlsBuffer    = 4 << 10
	handshakeEnd = 30 * time.Second
)

// Each connection is a session.
type service struct {
	watcher *aio.Watcher
	log     *slog.Logger
	config  *tls.Config

	handshakes, echoes atomic.Int64

	failed error // of WaitIO
}

func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func serveTLS(ctx context.Context, s settings, log *slog.Logger) error {
	own, err := certificate()
	if err != nil {
		return fmt.Errorf("no certificate: %w", err)
	}
	w, err := newWatcher(s, log)
	if err != nil {
		return err
	}
	defer w.Close()
	ln, err := net.Listen("tcp", s.addr)
	if err != nil {
		return command.CannotListen(err)
	}
	v := &service{watcher: w, log: log, config: &tls.Config{Certificates: []tls.Certificate{own}}}
	log.Info("listening", "addr", ln.Addr(), "backend", w.Stats().Backend)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := v.start(ln, stop)
	<-ctx.Done()
	ln.Close()
	w.Close()
	ended()
	if v.failed != nil {
		return fmt.Errorf("cannot wait for connections: %w", v.failed)
	}
	log.Info("stopped", "handshakes", v.handshakes.Load(), "echoes", v.echoes.Load())
	return nil
}

// session is a connection. A parked one belongs to the goroutine in WaitIO, others to serve's.
type session struct {
	handle *aio.Conn
	below  *parking
	tls    *tls.Conn
}

var buffers = sync.Pool{New: func() any { return new([tlsBuffer]byte) }}

// start accepts and drives, and calls stop if that fails. ended waits until both have ended.
func (v *service) start(ln net.Listener, stop func()) (ended func()) {
	var running sync.WaitGroup
	running.Go(func() { v.accept(ln) })
	running.Go(func() {
		if v.failed = v.drive(); v.failed != nil {
			stop()
		}
	})
	return running.Wait
}

func (v *service) accept(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			go v.greet(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			v.log.Warn("cannot accept", "error", err)
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func (v *service) open(conn net.Conn) (*session, error) {
	handle, err := v.watcher.Attach(conn)
	if err != nil {
		return nil, err
	}
	below := &parking{Conn: netconn.New(handle)}
	return &session{handle: handle, below: below, tls: tls.Server(below, v.config)}, nil
}

// greet does the handshake, for which a goroutine waits.
func (v *service) greet(conn net.Conn) {
	s, err := v.open(conn)
	if err != nil {
		v.log.Warn("cannot attach", "error", err)
		conn.Close()
		return
	}
	s.tls.SetDeadline(time.Now().Add(handshakeEnd))
	if err := s.tls.Handshake(); err != nil {
		s.tls.Close()
		return
	}
	s.tls.SetDeadline(time.Time{})
	v.handshakes.Add(1)
	s.below.never = true
	v.serve(s)
}

// serve echoes until there is nothing to read.
func (v *service) serve(s *session) {
	buffer := buffers.Get().(*[tlsBuffer]byte)
	defer buffers.Put(buffer)
	for {
		n, err := s.tls.Read(buffer[:])
		if n > 0 {
			if _, err := s.tls.Write(buffer[:n]); err != nil {
				s.tls.Close()
				return
			}
			v.echoes.Add(1)
		}
		if err == errNothingThere && s.handle.Read(s, nil, aio.NoDeadline) == nil {
			return // parked
		}
		if err != nil {
			s.tls.Close()
			return
		}
	}
}

// drive runs until the watcher is closed. Bytes for a parked session start a goroutine.
func (v *service) drive() (failed error) {
	for {
		results, err := v.watcher.WaitIO()
		if err == aio.ErrWatcherClosed {
			return failed
		} else if err != nil {
			failed = err
			v.watcher.Close() // each operation comes back
			continue
		}
		for _, r := range results {
			if netconn.Deliver(r) {
				continue
			}
			s := r.Tag.(*session)
			if r.Error != nil {
				s.handle.Close() // the peer is gone, or the watcher is closed
				continue
			}
			s.below.came = bytes.Clone(r.Buffer[:r.Size]) // it is the watcher's swap buffer
			go v.serve(s)
		}
	}
}

// parking is what the tls.Conn of a parked session reads from. After the bytes that came it has an
// error instead of a wait.
type parking struct {
	net.Conn
	came  []byte
	never bool // waits
}

func (p *parking) Read(buf []byte) (int, error) {
	if len(p.came) == 0 {
		if p.never {
			return 0, errNothingThere
		}
		return p.Conn.Read(buf)
	}
	n := copy(buf, p.came)
	if p.came = p.came[n:]; len(p.came) == 0 {
		p.came = nil
	}
	return n, nil
}

// errNothingThere is an error after which a tls.Conn can be read again, because it is Temporary.
var errNothingThere error = nothingThere{}

type nothingThere struct{}

func (nothingThere) Error() string   { return "there is nothing to read" }
func (nothingThere) Timeout() bool   { return true }
func (nothingThere) Temporary() bool { return true }
