//go:build linux

package planted

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/grpc"
)

// services are what programs ask. They answer after delay where they are slow.
type services struct {
	env []string // their addresses, as programs read them
	end func()
}

const delay = 60 * time.Millisecond

// serveUpstreams starts the services. UPSTREAM takes as long as a path says, as in /after/60ms, and
// delay under /shard/7. So long take the handshakes of SECURE, the answers of NAMES, and OFFICE's
// calls about books.
func serveUpstreams() (*services, error) {
	upstream := httptest.NewServer(http.HandlerFunc(answer))
	secure := httptest.NewUnstartedServer(http.HandlerFunc(answer))
	secure.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		time.Sleep(delay)
		return nil, nil
	}}
	secure.StartTLS()
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	calls, cerr := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(err, cerr); err != nil {
		return nil, err
	}
	go answerNames(names)
	office := grpc.NewServer(
		grpc.MaxConcurrentStreams(4), grpc.ForceServerCodec(plain{}), grpc.UnknownServiceHandler(answerCall),
	)
	go func() { _ = office.Serve(calls) }()
	return &services{
		env: []string{
			"UPSTREAM=" + upstream.URL, "SECURE=" + secure.URL,
			"NAMES=" + names.LocalAddr().String(), "OFFICE=" + calls.Addr().String(),
		},
		end: func() { upstream.Close(); secure.Close(); names.Close(); office.Stop() },
	}, nil
}

func answer(w http.ResponseWriter, r *http.Request) {
	if after, ok := strings.CutPrefix(r.URL.Path, "/after/"); ok {
		d, err := time.ParseDuration(after)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		time.Sleep(d)
	}
	if strings.HasPrefix(r.URL.Path+"/", "/shard/7/") {
		time.Sleep(delay)
	}
	fmt.Fprintln(w, "all is well")
}

// answerCall sends back what each call asks.
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

// plain is a codec for messages that are encoded already.
type plain struct{}

func (plain) Name() string { return "proto" }

func (plain) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (plain) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(b)
	return nil
}

// answerNames says of every name that it is this machine.
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
		if text, err := m.Pack(); err == nil {
			time.AfterFunc(delay, func() { _, _ = c.WriteTo(text, from) })
		}
	}
}
