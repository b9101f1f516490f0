// Package record has the flags of a recorder that the examples share.
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

const stopTimeout = 10 * time.Second

type Flags struct {
	admin   string
	options recorder.Options

	recorder *recorder.Recorder
	log      *slog.Logger
	page     *http.Server
	served   chan struct{}
}

func (f *Flags) Register(fs *flag.FlagSet) {
	fs.StringVar(&f.admin, "admin", "",
		"`host:port` of a recorder's page, which users of the service must not reach; default: no recorder")
	fs.DurationVar(&f.options.Slow, "slow", 0, "how long a request takes that is slow; default: 1% of them are")
	fs.Float64Var(&f.options.CPU, "recorder-cpu", 0,
		"part of the process's CPU time that the recorder may take; default 0.02")
	fs.StringVar(&f.options.Dir, "recorder-dir", "", "`folder` that the recorder keeps its history in; default: none")
}

func (f *Flags) Check() error {
	if o := f.options; f.admin == "" && (o.Slow != 0 || o.CPU != 0 || o.Dir != "") {
		return errors.New("-slow, -recorder-cpu and -recorder-dir are of the recorder: say with -admin where its " +
			"page is")
	}
	return nil
}

// Start starts the recorder, with its page on a server of its own.
func (f *Flags) Start(log *slog.Logger) error {
	if f.admin == "" {
		return nil
	}
	ln, err := net.Listen("tcp", f.admin)
	if err != nil {
		return fmt.Errorf("cannot listen for the recorder's page: %w; choose another address with -admin", err)
	}
	f.options.Logger = log
	rec, err := recorder.Start(context.Background(), f.options)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/evenkeel/", rec)
	f.recorder, f.log, f.served = rec, log, make(chan struct{})
	f.page = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(f.served)
		_ = f.page.Serve(ln)
	}()
	log.Info("recording", "url", "http://"+ln.Addr().String()+"/debug/evenkeel/")
	return nil
}

// Around has the recorder watch the requests of h.
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
	_ = f.page.Close()
	<-f.served
}
