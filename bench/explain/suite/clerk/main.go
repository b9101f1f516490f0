//go:build linux

// Command clerk is a service over gRPC, one of its features at a time. Its profiles are on a port of their own, as most
// have it. The driver, one folder up, knows what each feature suffers from.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// server is what protoc-gen-go-grpc would call ClerkServer.
type server interface {
	File(context.Context, *wrapperspb.StringValue) (*wrapperspb.StringValue, error)
}

var serviceDesc = grpc.ServiceDesc{
	ServiceName: "office.Clerk",
	HandlerType: (*server)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "File", Handler: _Clerk_File_Handler}},
}

func _Clerk_File_Handler(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	in := new(wrapperspb.StringValue)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(server).File(ctx, in)
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/office.Clerk/File"}
	return interceptor(ctx, in, info, func(ctx context.Context, req any) (any, error) {
		return srv.(server).File(ctx, req.(*wrapperspb.StringValue))
	})
}

func main() {
	env := start.Read("clerk")
	var options []grpc.ServerOption
	var office server
	switch env.Feature {
	case "24":
		office = newShelf()
	case "25":
		options = append(options, grpc.NumStreamWorkers(8))
		office = &copies{dir: env.Dir, text: make([]byte, 16<<20)}
	case "26":
		office = &desk{}
	default:
		office = officeOf(env)
	}
	if office == nil {
		env.None()
	}
	srv := grpc.NewServer(options...)
	srv.RegisterService(&serviceDesc, office)
	start.ServeBeside(srv.Serve)
}

// shelf holds what is filed, and is counted twice a second.
type shelf struct {
	mu    sync.Mutex
	files map[string]int
	order []int
}

func newShelf() *shelf {
	s := &shelf{files: map[string]int{}, order: make([]int, 1<<20)}
	go start.Every(500*time.Millisecond, s.survey)
	return s
}

func (s *shelf) File(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	return wrapperspb.String(fmt.Sprint(s.add(in.Value))), nil
}

func (s *shelf) add(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name]++
	return s.files[name]
}

func (s *shelf) survey() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for round := range 40 {
		for i := range s.order {
			s.order[i] += i ^ round
		}
	}
}

// copies are made of large files.
type copies struct {
	dir  string
	text []byte
}

func (c *copies) File(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	if in.Value == "large" {
		if err := c.write(); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (c *copies) write() error {
	f, err := os.CreateTemp(c.dir, "copy-")
	if err != nil {
		return err
	}
	defer os.Remove(filepath.Join(c.dir, filepath.Base(f.Name())))
	defer f.Close()
	if _, err := f.Write(c.text); err != nil {
		return err
	}
	return f.Sync()
}

// desk answers.
type desk struct{}

func (*desk) File(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	return in, nil
}
