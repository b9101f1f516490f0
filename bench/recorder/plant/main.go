// Command plant is a service with a recorder. One request in a hundred waits for a lock, for a
// sleep, or from -third on for another server. With -plain only /sleep?for=300ms is slow. It counts
// what made each slow.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/reqtrace/recorder"
)

const (
	slow  = 20 * time.Millisecond
	takes = 50 * time.Millisecond // of whatever is planted
)

func main() {
	addr := flag.String("addr", "127.0.0.1:5052", "`host:port` to listen on")
	third := flag.Duration("third", 5*time.Minute, "when the third cause begins")
	share := flag.Float64("recorder-cpu", 0, "recorder.Options.CPU")
	threshold := flag.Duration("slow", slow, "recorder.Options.Slow")
	every := flag.Duration("every", 0, "recorder.Options.Every")
	dir := flag.String("dir", "", "recorder.Options.Dir")
	plain := flag.Bool("plain", false, "plant nothing")
	parked := flag.Int("parked", 0, "`goroutines` that do nothing, beside the service")
	work := flag.Duration("work", 0, "compute for this `time` in each request")
	procs := flag.Int("procs", 0, "GOMAXPROCS")
	inProcess := flag.Bool("in-process", false, "recorder.Options.InProcess")
	ballast := flag.Int("ballast", 0, "`megabytes` of live memory")
	debug := flag.Bool("debug", false, "log what only a driver reads")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	level := slog.LevelInfo
	if *debug {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: level}))
	if *procs > 0 {
		runtime.GOMAXPROCS(*procs)
	}
	for range *parked {
		go func() { <-ctx.Done() }()
	}
	live := hold(*ballast)
	defer runtime.KeepAlive(live)
	o := recorder.Options{Slow: *threshold, CPU: *share, Every: *every, Dir: *dir, InProcess: *inProcess, Logger: log}
	rec, err := recorder.Start(ctx, o)
	if err == nil {
		err = run(ctx, *addr, &plant{plain: *plain, work: *work, began: time.Now(), after: *third}, rec, log)
	}
	if err != nil {
		log.Error("plant ends", "error", err)
		os.Exit(1)
	}
}

// hold returns live memory in pieces, which the collector has to mark.
func hold(megabytes int) []*[1 << 10]*byte {
	live := make([]*[1 << 10]*byte, megabytes<<20/(8<<10))
	for i := range live {
		live[i] = new([1 << 10]*byte)
	}
	return live
}

type plant struct {
	plain bool
	work  time.Duration
	began time.Time
	after time.Duration // the third cause begins
	stock sync.Mutex
	held  atomic.Bool  // by refresh
	other net.Listener // the server that it asks
	truth struct{ lock, sleep, network atomic.Int64 }
}

func run(ctx context.Context, addr string, p *plant, rec *recorder.Recorder, log *slog.Logger) error {
	defer rec.Stop(context.Background())
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer other.Close()
	p.other = other
	if !p.plain {
		go p.refresh(ctx)
	}
	go p.answer()
	mux := http.NewServeMux()
	mux.HandleFunc("/", p.serve)
	mux.HandleFunc("/sleep", sleep)
	root := http.NewServeMux()
	root.Handle("/", rec.Middleware(mux))
	root.Handle("/debug/evenkeel/", rec)
	root.HandleFunc("/truth", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]int64{
			"lock": p.truth.lock.Load(), "sleep": p.truth.sleep.Load(), "network": p.truth.network.Load(),
		})
	})
	root.HandleFunc("/self", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(map[string]int{"goroutines": runtime.NumGoroutine()})
	})
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	srv := http.Server{Handler: root}
	go srv.Serve(ln) // until it is shut down
	log.Info("recording", "url", "http://"+ln.Addr().String()+"/debug/evenkeel/")
	log.Info("listening", "url", "http://"+ln.Addr().String())
	<-ctx.Done()
	end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return srv.Shutdown(end)
}

func (p *plant) serve(w http.ResponseWriter, _ *http.Request) {
	start, lot := time.Now(), rand.Float64()
	held := p.held.Load()
	p.look()
	waited := time.Since(start)
	compute(p.work)
	var cause *atomic.Int64
	switch {
	case p.plain:
	case lot < .005:
		time.Sleep(takes)
		cause = &p.truth.sleep
	case lot < .01 && time.Since(p.began) > p.after:
		p.ask()
		cause = &p.truth.network
	}
	// Otherwise the request waited for a processor.
	if took := time.Since(start); took > slow {
		switch {
		case held && min(waited, takes) > took/2:
			p.truth.lock.Add(1)
		case cause != nil && takes > took/2:
			cause.Add(1)
		}
	}
	io.WriteString(w, "sold\n")
}

func compute(d time.Duration) {
	x := uint64(1)
	for start := time.Now(); time.Since(start) < d; {
		for range 1000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	if x == 0 {
		panic("unreachable")
	}
}

func sleep(w http.ResponseWriter, q *http.Request) {
	d, err := time.ParseDuration(q.FormValue("for"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	time.Sleep(d)
	io.WriteString(w, "slept\n")
}

func (p *plant) look() {
	p.stock.Lock()
	defer p.stock.Unlock()
}

func (p *plant) refresh(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(5 * time.Second)
		p.stock.Lock()
		p.held.Store(true)
		time.Sleep(takes)
		p.held.Store(false)
		p.stock.Unlock()
	}
}

func (p *plant) ask() {
	c, err := net.Dial("tcp", p.other.Addr().String())
	if err != nil {
		return
	}
	defer c.Close()
	io.ReadAll(c)
}

// answer is the other server, which closes each connection after a while.
func (p *plant) answer() {
	for {
		c, err := p.other.Accept()
		if err != nil {
			return
		}
		time.AfterFunc(takes, func() { c.Close() })
	}
}
