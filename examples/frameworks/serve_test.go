package frameworks_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/gin-gonic/gin"
	"github.com/valyala/fasthttp"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/httpd"
)

// startGate has a heap that nothing fills. refusing lets it refuse until the test ends.
func startGate(t *testing.T) (g *gcgate.Gate, refusing func()) {
	t.Helper()
	heap := gcgatetest.NewHeap()
	heap.Rate = 0
	g, err := gcgate.Start(t.Context(), gcgate.Options{
		Policy: gcgate.PolicyShed, Turns: gcgate.FileTurns{Path: filepath.Join(t.TempDir(), "turn")},
		HoldTurn: -1,
		Period:   -1, Collector: heap, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Stop(context.Background()) })
	return g, func() {
		hang, collected := make(chan struct{}), make(chan struct{})
		heap.Do(func() { heap.Hang = hang })
		go func() {
			defer close(collected)
			g.Collect(context.Background())
		}()
		t.Cleanup(func() { close(hang); <-collected })
		for n := 0; !g.Refusing(); n++ {
			if n == 60_000 {
				t.Fatal("the gate never refuses")
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

var servers = map[string]func(t *testing.T, h http.Handler) (url string){
	"net/http": func(t *testing.T, h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	},
	"httpd": func(t *testing.T, h http.Handler) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		srv, served := &http.Server{Handler: h}, make(chan error, 1)
		go func() { served <- httpd.Serve(context.Background(), srv, ln, httpd.Options{}) }()
		t.Cleanup(func() {
			http.DefaultClient.CloseIdleConnections()
			if err := srv.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
		return "http://" + ln.Addr().String()
	},
}

// TestFrameworks tests that requests count, and are refused under PolicyShed.
func TestFrameworks(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	starts := map[string]func(*testing.T, *gcgate.Gate, func() string) (url string){
		"fasthttp": func(t *testing.T, g *gcgate.Gate, say func() string) string {
			return serveFast(t, FastHTTP(g, func(c *fasthttp.RequestCtx) { c.WriteString(say()) }))
		},
	}
	for by, serve := range servers {
		starts["gin by "+by] = func(t *testing.T, g *gcgate.Gate,
			say func() string,
		) string {
			return serve(t, Gin(g, say))
		}
		starts["echo by "+by] = func(t *testing.T, g *gcgate.Gate,
			say func() string,
		) string {
			return serve(t, Echo(g, say))
		}
		starts["chi by "+by] = func(t *testing.T, g *gcgate.Gate,
			say func() string,
		) string {
			return serve(t, Chi(g, say))
		}
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			g, refusing := startGate(t)
			url := start(t, g, func() string {
				if n, _ := g.Requests(); n != 1 {
					t.Errorf("%d requests in flight, want the one that runs", n)
				}
				return "hello"
			}) + path
			if status, body := get(t, url); status != http.StatusOK || body != "hello" {
				t.Errorf("got %d %q", status, body)
			}
			if _, entered := g.Requests(); entered != 1 {
				t.Errorf("%d requests were counted, want 1", entered)
			}
			refusing()
			if status, _ := get(t, url); status != http.StatusServiceUnavailable || g.Stats().Refused != 1 {
				t.Errorf("got %d, and %d were refused; want 503 and one", status, g.Stats().Refused)
			}
		})
	}
}

func serveFast(t *testing.T, h fasthttp.RequestHandler) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fasthttp.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		<-served
	})
	return "http://" + l.Addr().String()
}

// TestConnect tests that unary calls count, streams of Connect's own protocol do not, and a refusal
// is "unavailable".
func TestConnect(t *testing.T) {
	for by, serve := range servers {
		t.Run(by, func(t *testing.T) { testConnect(t, serve) })
	}
}

func testConnect(t *testing.T, serve func(t *testing.T, h http.Handler) (url string)) {
	g, refusing := startGate(t)
	want := 1
	h := Connect(g, func() string {
		if n, _ := g.Requests(); n != want {
			t.Errorf("%d requests in flight, want %d", n, want)
		}
		return "hello"
	})
	url := serve(t, h)
	unary := connect.NewClient[emptypb.Empty, wrapperspb.StringValue](http.DefaultClient, url+path)
	resp, err := unary.CallUnary(t.Context(), connect.NewRequest(&emptypb.Empty{}))
	if err != nil || resp.Msg.GetValue() != "hello" {
		t.Fatalf("got %v, %v", resp, err)
	}
	want = 0
	stream, err := connect.NewClient[emptypb.Empty, wrapperspb.StringValue](http.DefaultClient, url+streamPath).
		CallServerStream(t.Context(), connect.NewRequest(&emptypb.Empty{}))
	if err != nil {
		t.Fatal(err)
	}
	if !stream.Receive() || stream.Msg().GetValue() != "hello" {
		t.Errorf("the stream gave %v, %v", stream.Msg(), stream.Err())
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
	if _, entered := g.Requests(); entered != 1 {
		t.Errorf("%d requests were counted, want the unary call alone", entered)
	}
	refusing()
	if _, err := unary.CallUnary(t.Context(),
		connect.NewRequest(&emptypb.Empty{})); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a refused call got %v, want unavailable", err)
	}
}
