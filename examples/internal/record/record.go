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

	"evenkeel.dev/examples/internal/command"
	"evenkeel.dev/reqtrace/recorder"
)

// Flags has defaults in Admin and Options before Register.
type Flags struct {
	Admin   string
	Options recorder.Options

	// Start sets these if there is a recorder.
	Recorder *recorder.Recorder
	Pages    *http.ServeMux // which operators see
	URL      string         // of Pages

	log    *slog.Logger
	page   *http.Server
	served chan struct{}
}

func (f *Flags) Register(fs *flag.FlagSet) {
	fs.StringVar(&f.Admin, "admin", f.Admin,
		"`host:port` of a recorder's page, which users of the service must not reach; empty: no recorder")
	fs.DurationVar(&f.Options.Slow, "slow", 0, "how long a request takes that is slow; default: 1% of them are")
	fs.Float64Var(&f.Options.CPU, "recorder-cpu", 0,
		"part of the process's CPU time that the recorder may take; default 0.02")
	fs.StringVar(&f.Options.Dir, "recorder-dir", "", "`folder` that the recorder keeps its history in; default: none")
}

func (f *Flags) Check() error {
	if o := f.Options; f.Admin == "" && (o.Slow != 0 || o.CPU != 0 || o.Dir != "") {
		return errors.New("-slow, -recorder-cpu and -recorder-dir are of the recorder: say with -admin where its " +
			"page is")
	}
	return nil
}

// Start starts the recorder, with its page on a server of its own.
func (f *Flags) Start(log *slog.Logger) error {
	if f.Admin == "" {
		return nil
	}
	ln, err := net.Listen("tcp", f.Admin)
	if err != nil {
		return fmt.Errorf("cannot listen for the recorder's page: %w; choose another address with -admin", err)
	}
	f.Options.Logger = log
	rec, err := recorder.Start(context.Background(), f.Options)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	f.Recorder, f.log, f.served = rec, log, make(chan struct{})
	f.Pages, f.URL = http.NewServeMux(), "http://"+ln.Addr().String()
	f.Pages.Handle("/debug/evenkeel/", rec)
	f.page = command.NewServer(f.Pages, log)
	f.page.WriteTimeout = 0 // a profile may take longer
	go func() {
		defer close(f.served)
		_ = f.page.Serve(ln)
	}()
	log.Info("recording", "url", f.URL+"/debug/evenkeel/")
	return nil
}

// Around has the recorder watch the requests of h.
func (f *Flags) Around(h http.Handler) http.Handler {
	if f.Recorder == nil {
		return h
	}
	return f.Recorder.Middleware(h)
}

// Close ends recorder and page.
func (f *Flags) Close() {
	if f.Recorder == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := f.Recorder.Stop(ctx); err != nil {
		f.log.Warn("the recorder's end", "error", err)
	}
	_ = f.page.Close()
	<-f.served
}
