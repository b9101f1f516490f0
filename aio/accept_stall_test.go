package aio_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"

	"evenkeel.dev/aio"
)

// ends is a slog.Handler that ends in its own way.
type ends struct {
	slog.Handler
	end func()
}

func (ends) Enabled(context.Context, slog.Level) bool    { return true }
func (e ends) Handle(context.Context, slog.Record) error { e.end(); return nil }

// TestLoggerPanics: a Logger that panics, or ends the goroutine, as an accept has to wait, leaves
// the Watcher to the next WaitIO.
func TestLoggerPanics(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for name, end := range map[string]func(){"panic": func() { panic("the Logger") }, "Goexit": runtime.Goexit} {
			t.Run(name, func(t *testing.T) {
				w := open(t, aio.Options{Backend: b, MaxConns: 1, Logger: slog.New(ends{slog.DiscardHandler, end})})
				l, err := w.Listen("tcp", "127.0.0.1:0", aio.ListenOptions{})
				must(t, err)
				dialed(t, l.Addr())
				dialed(t, l.Addr())
				first := accepted(t, w, l)
				must(t, l.Accept("second", none))
				var waiting sync.WaitGroup
				returned := false
				waiting.Go(func() {
					defer func() { _ = recover() }()
					_, _ = w.WaitIO()
					returned = true
				})
				waiting.Wait()
				if returned || w.Stats().AcceptStalls == 0 {
					t.Fatalf("the Logger was not called; %+v", w.Stats())
				}
				must(t, first.Close())
				if r := only(t, w); r.Tag != "second" || r.Error != nil {
					t.Errorf("%+v, want the second connection", r)
				}
			})
		}
	})
}
