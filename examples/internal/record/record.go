// Package record is a recorder on a command line: the flags that examples share which can say why they were slow, and what
// they stand for. The example hello has all of it in one file.
package record

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"evenkeel.dev/reqtrace/recorder"
)

// stopTimeout bounds what stopping the recorder may take: its last analysis.
const stopTimeout = 10 * time.Second

// Flags are the flags, parsed, and what they make. The zero value has no recorder.
type Flags struct {
	admin string
	cpu   float64

	recorder *recorder.Recorder // nil: none
	log      *slog.Logger
	page     *http.Server
	served   chan struct{} // closed when page is served no more
}

// Register adds the flags to fs.
func (f *Flags) Register(fs *flag.FlagSet) {
	fs.StringVar(&f.admin, "admin", "", "`host:port` of a recorder's page, which those who use the service must not reach; default: no recorder")
	fs.Float64Var(&f.cpu, "recorder-cpu", 0, "part of the process's CPU time that the recorder may take; default 0.02")
}

// Check says what is wrong with the flags.
func (f *Flags) Check() error {
	if f.admin == "" && f.cpu != 0 {
		return errors.New("-recorder-cpu is of the recorder: say with -admin where its page is")
	}
	return nil
}

// Start starts the recorder that the flags ask for, with its page on a server of its own. Call Close after it.
func (f *Flags) Start(log *slog.Logger) error {
	if f.admin == "" {
		return nil
	}
	ln, err := net.Listen("tcp", f.admin)
	if err != nil {
		return fmt.Errorf("cannot listen for the recorder's page: %w; choose another address with -admin", err)
	}
	rec, err := recorder.Start(context.Background(), recorder.Options{CPU: f.cpu, Logger: log})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/evenkeel/", rec)
	f.recorder, f.log, f.served = rec, log, make(chan struct{})
	f.page = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(f.served)
		_ = f.page.Serve(ln) // until it is closed
	}()
	log.Info("recording", "url", "http://"+ln.Addr().String()+"/debug/evenkeel/")
	return nil
}

// Around returns h with its requests watched by the recorder, or h itself where there is none.
func (f *Flags) Around(h http.Handler) http.Handler {
	if f.recorder == nil {
		return h
	}
	return f.recorder.Middleware(h)
}

// Close ends recorder and page.
func (f *Flags) Close() {
	if f.recorder == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := f.recorder.Stop(ctx); err != nil {
		f.log.Warn("the recorder's end", "error", err)
	}
	_ = f.page.Close() // it never fails
	<-f.served
}
