//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/grpc"

	"evenkeel.dev/examples/child"
)

// program is one that the driver started.
type program struct {
	*child.Child
	addr, admin string
	dir         string // its files
}

var listening = regexp.MustCompile(`^listening on ([0-9.:]+ [0-9.:]+)$`)

// start starts a plant's program with the files of its own in dir.
func (d *driver) start(ctx context.Context, p *plant, dir string) (*program, error) {
	env := []string{
		"FEATURE=" + fmt.Sprint(p.number), "DIR=" + dir, "UPSTREAM=" + d.upstream,
		"NAMES=" + d.names, "SECURE=" + d.secure, "OFFICE=" + d.office,
	}
	for k, v := range p.load.env {
		env = append(env, k+"="+v)
	}
	if d.procs != "" {
		env = append(env, "GOMAXPROCS="+d.procs)
	}
	c, err := child.Start(ctx, child.Options{Args: []string{filepath.Join(d.bin, p.program)}, Env: env, Ready: listening, Input: true, Stderr: os.Stderr, StopTimeout: 5 * time.Second})
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: make bench-explain-suite builds it", err)
	}
	if err != nil {
		return nil, err
	}
	r := &program{Child: c, dir: dir}
	_, err = fmt.Sscan(c.Match, &r.addr, &r.admin)
	return r, err
}

// delay is how long the services behind take where they are slow.
const delay = 60 * time.Millisecond

var slowPath = regexp.MustCompile(`^/(archive/|shard/7(/|$))`)

// serveBehind serves what the programs ask for, until end is called.
func (d *driver) serveBehind() (end func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		ln.Close()
		return nil, err
	}
	calls, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		ln.Close()
		names.Close()
		return nil, err
	}
	office := grpc.NewServer(
		grpc.MaxConcurrentStreams(4), grpc.ForceServerCodec(plain{}), grpc.UnknownServiceHandler(answerCall),
	)
	go func() { _ = office.Serve(calls) }()
	d.office = calls.Addr().String()
	srv := &http.Server{ReadHeaderTimeout: timeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slowPath.MatchString(r.URL.Path) {
			time.Sleep(delay)
		}
		fmt.Fprintln(w, "all is well")
	})}
	go func() { _ = srv.Serve(ln) }()
	go answerNames(names)
	secure := httptest.NewUnstartedServer(srv.Handler)
	secure.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		time.Sleep(delay)
		return nil, nil
	}}
	secure.StartTLS()
	d.secure = secure.URL
	d.upstream, d.names = "http://"+ln.Addr().String(), names.LocalAddr().String()
	return func() { srv.Close(); secure.Close(); names.Close(); office.Stop() }, nil
}

// answerCall sends back what each call asks, late if that is about books.
func answerCall(_ any, stream grpc.ServerStream) error {
	var in []byte
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	if bytes.Contains(in, []byte("books")) {
		time.Sleep(delay)
	}
	return stream.SendMsg(in)
}

// answerNames says of every name, and late, that it is this machine.
func answerNames(c net.PacketConn) {
	b := make([]byte, 1500)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(b[:n]) != nil || len(m.Questions) == 0 {
			continue
		}
		m.Response, m.Authoritative, m.Additionals = true, true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
			m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
		}
		if answer, err := m.Pack(); err == nil {
			time.AfterFunc(delay, func() { _, _ = c.WriteTo(answer, from) })
		}
	}
}
