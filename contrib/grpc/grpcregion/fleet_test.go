package grpcregion_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"evenkeel.dev/contrib/grpc/grpcregion"
	"evenkeel.dev/internal/across"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/reqtrace"
)

// A fleet is three processes of this test's binary that call each other by gRPC:
//
//	shop ──── stock ──── store
const roleEnv = "EVENKEEL_FLEET"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		serveRole(role)
		return
	}
	leaks.Main(m)
}

// member is one process. cause is what makes one in some requests slow.
type member struct {
	testpb.UnimplementedTestServiceServer

	cause string
	next  testpb.TestServiceClient // nil: the last one

	mu sync.Mutex
	n  int
}

// slow is long next to what a busy machine does to a request.
const slow = 200 * time.Millisecond

// serveRole prints the addresses of gRPC and of HTTP.
func serveRole(role string) {
	words := strings.Split(role, ",") // marks, cause, address of the next
	s := &member{cause: words[1]}
	var server []grpc.ServerOption
	client := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if words[0] != "none" {
		server = append(server, grpc.ChainUnaryInterceptor(grpcregion.UnaryServer))
		client = append(client, grpc.WithChainUnaryInterceptor(grpcregion.UnaryClient))
	}
	if words[2] != "" {
		conn, err := grpc.NewClient(words[2], client...)
		if err != nil {
			panic(err)
		}
		s.next = testpb.NewTestServiceClient(conn)
	}
	calls, callsErr := net.Listen("tcp", "127.0.0.1:0")
	pprof, pprofErr := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(callsErr, pprofErr); err != nil {
		panic(err)
	}
	fmt.Println(calls.Addr(), pprof.Addr())
	if s.cause == "lock" {
		go s.reload()
	}
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }() // the test has ended
	go func() { panic(http.Serve(pprof, nil)) }()
	g := grpc.NewServer(server...)
	testpb.RegisterTestServiceServer(g, s)
	panic(g.Serve(calls))
}

func (s *member) reload() {
	for {
		time.Sleep(400 * time.Millisecond)
		s.mu.Lock()
		time.Sleep(slow)
		s.mu.Unlock()
	}
}

func (s *member) EmptyCall(ctx context.Context, in *testpb.Empty) (*testpb.Empty, error) {
	s.mu.Lock()
	s.n++
	turn := s.n%30 == 0
	s.mu.Unlock()
	if turn && s.cause == "sleep" {
		s.rest()
	}
	if s.next != nil {
		return s.next.EmptyCall(ctx, in)
	}
	return in, nil
}

func (s *member) rest() { time.Sleep(slow) }

// startMember returns the addresses of gRPC and of HTTP.
func startMember(t *testing.T, marks, cause, next string) (calls, pprof string) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), roleEnv+"="+marks+","+cause+","+next)
	c.Stderr = os.Stderr
	in, inErr := c.StdinPipe()
	out, outErr := c.StdoutPipe()
	if err := errors.Join(inErr, outErr, c.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = c.Wait() })
	if _, err := fmt.Fscanln(out, &calls, &pprof); err != nil {
		t.Fatal(err)
	}
	return calls, pprof
}

// TestPlanted: the service and the line that a cause was planted in come first over gRPC.
func TestPlanted(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("make check runs it on 64 bits")
	}
	testutil.Slow(t, "it traces fleets of three processes")
	for _, marks := range []string{"marks", "none"} {
		for service, cause := range map[string]string{"store": "lock", "stock": "sleep"} {
			t.Run(marks+" "+cause, func(t *testing.T) {
				if marks == "none" || cause == "sleep" {
					testutil.Long(t, "it traces one of many fleets")
				}
				line := map[string]string{"lock": "(*member).reload ", "sleep": "(*member).rest "}[cause]
				// Other work on the machine may be slower than the cause, or leave too few requests.
				for _, seconds := range []int{5, 10, 20} {
					s := story(t, marks, service, cause, seconds)
					text := s.Sentence + "\n" + s.Detail + "\n" + s.Fix
					if s.Named && !strings.Contains(s.Sentence, "(*member).EmptyCall ") {
						t.Errorf("the caller's line is not the program's: %s", s.Sentence)
					}
					t.Logf("%s\njoined %.3f, %d of %d calls, %v", text, s.Joined, s.Found, s.Calls, s.Caveats)
					if s.Named && s.Parts[0].Service == service && strings.Contains(text, line) {
						return
					}
				}
				t.Errorf("want %s in %s", line, service)
			})
		}
	}
}

// story loads the shop by some clients, and explains it.
func story(t *testing.T, marks, service, cause string, seconds int) *across.Story {
	names := []string{"store", "stock", "shop"}
	pprof := map[string]string{}
	at := ""
	for _, name := range names {
		planted := ""
		if name == service {
			planted = cause
		}
		at, pprof[name] = startMember(t, marks, planted, at)
	}
	conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := testpb.NewTestServiceClient(conn)
	ctx, end := context.WithCancel(t.Context())
	var running, taken sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for ctx.Err() == nil {
				_, _ = client.EmptyCall(ctx, &testpb.Empty{})
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	traces := make([]bytes.Buffer, len(names))
	for i, name := range names {
		taken.Go(func() {
			res, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/trace?seconds=%d", pprof[name], seconds))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if _, err := io.Copy(&traces[i], res.Body); err != nil {
				t.Error(err)
			}
		})
	}
	taken.Wait()
	end()
	running.Wait()
	http.DefaultClient.CloseIdleConnections()
	var joined across.Fleet
	for i := range names {
		i = len(names) - 1 - i // the shop is the first
		s := joined.Service(names[i])
		r, err := reqtrace.Analyze(t.Context(), &traces[i], reqtrace.Options{Each: s.Add})
		if err != nil {
			t.Fatal(names[i], err)
		}
		s.End(r)
	}
	return joined.Join()
}
