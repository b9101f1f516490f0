//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// officeOf makes the office of a feature; nil: there is none.
func officeOf(env start.Env) server {
	switch env.Feature {
	case "38":
		r := &register{}
		r.renew()
		go start.Every(700*time.Millisecond, r.renew)
		return r
	case "40":
		s := &scanner{slots: make(chan struct{}, 2), file: filepath.Join(env.Dir, "scans"), sheets: make([]byte, 32<<20)}
		go start.Every(900*time.Millisecond, s.batch)
		return s
	case "43":
		return &telegraph{rate.NewLimiter(30, 3)}
	case "46":
		return &cabinet{env.Upstream}
	case "59":
		return &desk{}
	case "63":
		return newBranch(env.Office)
	}
	return nil
}

// branch asks the head office, which takes a few calls at a time.
type branch struct{ head *grpc.ClientConn }

func newBranch(office string) *branch {
	conn, err := grpc.NewClient(office, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	b := &branch{conn}
	go start.Every(900*time.Millisecond, b.close)
	return b
}

func (b *branch) File(ctx context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	return b.ask(ctx, in)
}

func (b *branch) ask(ctx context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	out := new(wrapperspb.StringValue)
	return out, b.head.Invoke(ctx, "/office.Clerk/File", in, out)
}

// close sends the day's books.
func (b *branch) close() {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _, _ = b.ask(context.Background(), wrapperspb.String("books")) })
	}
	all.Wait()
}

// register has all names.
type register struct {
	group singleflight.Group
	names atomic.Pointer[[]uint64]
}

func (r *register) File(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	return wrapperspb.String(strconv.Itoa(r.find(len(in.Value)))), nil
}

func (r *register) find(i int) int {
	names := r.names.Load()
	if names == nil {
		v, _, _ := r.group.Do("names", r.read)
		names = v.(*[]uint64)
	}
	return int((*names)[i])
}

// renew has the names read anew.
func (r *register) renew() {
	r.names.Store(nil)
	_, _, _ = r.group.Do("names", r.read)
}

func (r *register) read() (any, error) {
	names := make([]uint64, 1<<16)
	x := uint64(5)
	for i := range 50_000_000 {
		x = (x ^ x>>29) * 0x9e3779b97f4a7c15
		names[i%len(names)] = x
	}
	r.names.Store(&names)
	return &names, nil
}

// scanner scans two at a time.
type scanner struct {
	slots  chan struct{}
	file   string
	sheets []byte
}

func (s *scanner) File(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	s.scan()
	return in, nil
}

func (s *scanner) scan() {
	s.slots <- struct{}{}
	s.sheets[0]++
	<-s.slots
}

// batch scans all that is left, and keeps it.
func (s *scanner) batch() {
	for range cap(s.slots) {
		s.slots <- struct{}{}
	}
	if err := s.keep(); err != nil {
		log.Print(err)
	}
	for range cap(s.slots) {
		<-s.slots
	}
}

func (s *scanner) keep() error {
	f, err := os.Create(s.file)
	if err != nil {
		return err
	}
	_, err = f.Write(s.sheets)
	return errors.Join(err, f.Sync(), f.Close())
}

// telegraph sends large letters in three parts.
type telegraph struct{ parts *rate.Limiter }

func (t *telegraph) File(ctx context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	if in.Value == "large" {
		return in, t.send(ctx)
	}
	return in, nil
}

func (t *telegraph) send(ctx context.Context) error {
	for range 3 {
		if err := t.parts.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// cabinet has large files elsewhere.
type cabinet struct{ upstream string }

func (c *cabinet) File(ctx context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	if in.Value == "large" {
		return in, c.open(ctx)
	}
	return in, nil
}

func (c *cabinet) open(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.upstream+"/archive/cabinet", http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
