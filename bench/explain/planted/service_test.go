//go:build linux

package planted

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c" //nolint:staticcheck // deprecated, and what many programs run
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// env is what plants share.
type env struct {
	dir, upstream, names, secure, office string

	without  bool
	strength float64
	client   http.Client

	sum  atomic.Uint64
	page []byte
}

// handler answers a request, a small one or a large one.
type handler func(ctx context.Context, large bool) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(r.Context(), r.URL.Path == "/large"); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(w, "done\n")
}

// TestMain is a service if PLANT names what its slowest requests are slow by, in a child of a test.
// It serves any plant over any protocol (PROTOCOL: http, h2, x/net or grpc). A request is for
// /small, and one in thirty for /large.
//
// DIR is a directory for files. The services behind are UPSTREAM, NAMES (a name server), SECURE
// (over TLS) and OFFICE (over gRPC). WITHOUT=1 takes the cause away, but not the large requests.
// STRENGTH is how many times as long it takes.
func TestMain(m *testing.M) {
	if name := os.Getenv("PLANT"); name != "" {
		servePlant(name)
	}
	os.Exit(m.Run())
}

func servePlant(name string) {
	log.SetFlags(0)
	log.SetPrefix("planted: ")
	e := &env{
		dir: os.Getenv("DIR"), upstream: os.Getenv("UPSTREAM"), names: os.Getenv("NAMES"),
		secure: os.Getenv("SECURE"), office: os.Getenv("OFFICE"), without: os.Getenv("WITHOUT") != "",
	}
	var err error
	e.strength, err = strconv.ParseFloat(cmp.Or(os.Getenv("STRENGTH"), "1"), 64)
	check(err)
	e.client.Transport = &http.Transport{
		MaxIdleConnsPerHost: 200,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		//nolint:gosec // its certificate is made for this run
	}
	h := newGuarded(e, name)
	if makes := handlers[name]; makes != nil {
		h = makes(e)
	}
	if h == nil {
		log.Fatalf("PLANT=%s: there is no such plant", name)
	}
	serveBy(os.Getenv("PROTOCOL"), h)
}

// serveBy prints the addresses of the service and of its profiles, and serves until the process
// ends.
func serveBy(protocol string, h http.Handler) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	if protocol == "grpc" {
		admin, err := net.Listen("tcp", "127.0.0.1:0")
		check(err)
		go func() { log.Fatal((&http.Server{ReadHeaderTimeout: time.Minute}).Serve(admin)) }()
		fmt.Println("listening on", ln.Addr(), admin.Addr())
		log.Fatal(grpcServer(h.(handler)).Serve(ln))
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.Handle("/debug/pprof/", http.DefaultServeMux)
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: mux}
	switch protocol {
	case "h2":
		srv.Protocols = new(http.Protocols)
		srv.Protocols.SetHTTP1(true)
		srv.Protocols.SetUnencryptedHTTP2(true)
	case "x/net":
		srv.Handler = h2c.NewHandler(mux, &http2.Server{}) //nolint:staticcheck // see above
	}
	fmt.Println("listening on", ln.Addr(), ln.Addr())
	log.Fatal(srv.Serve(ln))
}

// grpcServer serves calls of /bench.Planted/Do. A large request's value is "large".
func grpcServer(h handler) *grpc.Server {
	do := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := new(wrapperspb.StringValue)
		if err := decode(in); err != nil {
			return nil, err
		}
		return in, h(ctx, in.Value == "large")
	}
	workers, _ := strconv.ParseUint(os.Getenv("STREAM_WORKERS"), 10, 32) // none, if it is not set
	srv := grpc.NewServer(grpc.NumStreamWorkers(uint32(workers)))
	srv.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Planted", Methods: []grpc.MethodDesc{{MethodName: "Do", Handler: do}},
	}, nil)
	return srv
}

// every has f called again and again, unless the cause is to be gone.
func (e *env) every(d time.Duration, f func()) {
	if e.without {
		return
	}
	go func() {
		for range time.Tick(d) {
			f()
		}
	}()
}

// stronger returns how long a plant takes what takes d at its usual strength.
func (e *env) stronger(d time.Duration) time.Duration { return time.Duration(e.strength * float64(d)) }

// late asks the service behind for an answer that takes long.
func (e *env) late(ctx context.Context) error {
	return e.get(ctx, fmt.Sprintf("%s/after/%v", e.upstream, e.stronger(60*time.Millisecond)))
}

// get reads an answer.
func (e *env) get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// check ends the program.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// warn prints an error of what goes on beside the requests.
func warn(err error) {
	if err != nil {
		log.Print(err)
	}
}

// fold computes.
func fold(seed uint64, n int) uint64 {
	for range n {
		seed = (seed ^ seed>>29) * 0x9e3779b97f4a7c15
	}
	return seed
}

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
