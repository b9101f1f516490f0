// Package command is the frame of the examples: flags, signals, log, exit codes, an HTTP server.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// The exit codes.
const (
	OK     = 0
	Failed = 1
	Usage  = 2
)

type Command struct {
	Name  string
	Flags func(*flag.FlagSet)
	Check func() error // may be nil

	// Run runs until ctx is done. The log goes to stdout.
	Run func(ctx context.Context, stdout io.Writer, log *slog.Logger) error

	// Listen is Run with a listener at -addr, whose default is Addr.
	Listen func(ctx context.Context, ln net.Listener, stdout io.Writer, log *slog.Logger) error
	Addr   string
}

// Main runs c until SIGINT or SIGTERM. A second signal kills.
func (c Command) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(c.Exec(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exec runs c and returns its exit code. stderr has what keeps the program from starting.
func (c Command) Exec(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	c.Flags(fs)
	if c.Listen != nil {
		c.listen(fs)
	}
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return OK
	} else if err != nil {
		return Usage
	}
	var err error
	if fs.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	} else if c.Check != nil {
		err = c.Check()
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", c.Name, err)
		fs.Usage()
		return Usage
	}
	if err := c.Run(ctx, stdout, slog.New(slog.NewTextHandler(stdout, nil))); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", c.Name, err)
		return Failed
	}
	return OK
}

func (c *Command) listen(fs *flag.FlagSet) {
	var addr string
	AddrFlag(fs, &addr, c.Addr)
	c.Run = func(ctx context.Context, stdout io.Writer, log *slog.Logger) error {
		ln, err := Listen(addr)
		if err != nil {
			return err
		}
		defer ln.Close()
		return c.Listen(ctx, ln, stdout, log)
	}
}

func AddrFlag(fs *flag.FlagSet, addr *string, byDefault string) {
	fs.StringVar(addr, "addr", byDefault, "`host:port` to listen on; port 0 lets the kernel choose")
}

func Listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, CannotListen(err)
	}
	return ln, nil
}

// CannotListen says what to do about a busy port.
func CannotListen(err error) error {
	return fmt.Errorf("cannot listen: %w; choose another address with -addr", err)
}

const shutdownTimeout = 10 * time.Second

// NewServer bounds what one client can hold up. Profiles extend the write timeout by themselves.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// Server is an HTTP server. Each field may be nil.
type Server struct {
	By func(*http.Server, net.Listener) error // default: net/http

	// First stops a gate before the server ends, because balancers that poll need answers until
	// they have this process back.
	First func()
}

// Serve answers on ln until ctx is done, then finishes what is under way. It logs ln and attrs.
func (s Server) Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger, attrs ...any) error {
	serve := s.By
	if serve == nil {
		serve = (*http.Server).Serve
	}
	srv := NewServer(h, log)
	served := make(chan error, 1)
	go func() { served <- serve(srv, ln) }()
	log.Info("listening", append([]any{"url", "http://" + ln.Addr().String()}, attrs...)...)
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("stopping", "cause", context.Cause(ctx))
	if s.First != nil {
		s.First()
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := srv.Shutdown(end)
	if err == nil {
		select {
		case <-served: // a server that queues answers has sent them
		case <-end.Done():
			err = end.Err()
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		srv.Close()
		return fmt.Errorf("requests were still under way after %v and were cut off", shutdownTimeout)
	}
	return err
}
