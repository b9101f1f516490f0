// Command peer is msgpush with a rival of gcgate in the place of its gate: automemlimit or
// bytedance/gopkg's gctuner, used as their documentation says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"evenkeel.dev/examples/msgpush/window"
	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/bytedance/gopkg/util/gctuner"
)

// gctunerShare is the share of the memory that is gctuner's threshold for the heap; the rest is
// what the process takes beside it. gctuner's documentation advises less (0.7), with which it
// would collect this heap, nearly half of the memory, more often than the stock runtime does.
const gctunerShare = .9

func main() {
	log.SetFlags(0)
	addr := flag.String("addr", "127.0.0.1:5100", "`host:port` to listen on")
	size := flag.Int("size", 1024, "`bytes` of a message")
	batch := flag.Int("batch", 64, "`messages` that a request pushes")
	length := flag.Int("window", 300_000, "`messages` that live")
	shape := flag.String("shape", "ptr", "`shape` of a message")
	auto := flag.Uint64("automemlimit", 0, "let automemlimit set GOMEMLIMIT from this memory of a container, in `bytes`")
	tuner := flag.Uint64("gctuner", 0, "let gctuner set GOGC from this memory of a container, in `bytes`")
	flag.Parse()
	if err := window.Check(*shape, *size, *length); err != nil {
		log.Fatal("peer: ", err)
	}
	if *auto > 0 {
		limit, err := memlimit.Set(memlimit.WithProvider(memlimit.Limit(*auto)))
		if err != nil {
			log.Fatal("peer: automemlimit: ", err)
		}
		fmt.Println("GOMEMLIMIT", limit)
	}
	if *tuner > 0 {
		gctuner.Tuning(uint64(gctunerShare * float64(*tuner)))
	}
	w := window.New(*shape, *size, *length)
	mux := http.NewServeMux()
	mux.Handle("GET /push", w.Handler(*batch))
	mux.Handle("GET /stats", window.StatsHandler(nil))
	if err := serve(*addr, mux); err != nil {
		log.Fatal("peer: ", err)
	}
}

// serve answers until SIGINT or SIGTERM.
func serve(addr string, h http.Handler) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	srv := &http.Server{Addr: addr, Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	context.AfterFunc(ctx, func() { srv.Close() })
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
