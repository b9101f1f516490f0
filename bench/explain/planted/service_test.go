//go:build linux

package planted

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

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
