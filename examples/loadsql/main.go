// Command loadsql puts an open-loop load on a database through database/sql: any client can stand
// in loadgen.Options.Call.
//
//	go run ./loadsql          # from examples/: 500 queries/s for 3 s, on a database of its own
//
// The pool has fewer connections than there are queries under way when the database stalls, so queries wait for one
// inside database/sql. A timer around the query in a closed loop would hardly see that. Here latency counts from
// the time that each query was due.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"evenkeel.dev/loadgen"
)

func main() {
	log.SetFlags(0)
	rate := flag.Float64("rate", 500, "`queries` a second")
	length := flag.Duration("z", 3*time.Second, "`duration` of the load")
	pool := flag.Int("pool", 8, "connections that database/sql may open")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *rate, *length, *pool); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, rate float64, length time.Duration, pool int) error {
	server, err := startDatabase()
	if err != nil {
		return err
	}
	defer server.stop()

	db, err := sql.Open("lines", server.addr())
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(pool)
	db.SetMaxIdleConns(pool)

	result, err := loadgen.Run(ctx, loadgen.Options{
		Call: func(ctx context.Context, worker int) error {
			var value string
			return db.QueryRowContext(ctx, "GET ?", fmt.Sprintf("key%d", worker)).Scan(&value)
		},
		Rate:     rate,
		Duration: length,
		Arrivals: loadgen.ArrivalsPoisson, // as from clients who do not know of each other
		Timeout:  5 * time.Second,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d queries answered, %d failed, seed %d\n", result.Answered, result.Failed, result.Seed)
	for _, f := range result.Failures {
		fmt.Fprintf(w, "%d x %s: %s\n", f.Count, f.Class, f.Example)
	}
	for _, q := range []float64{.5, .99, .999} {
		fmt.Fprintf(w, "p%-5v %10v from the time due, %10v from the call\n", 100*q,
			result.Latency.Quantile(q).Round(time.Microsecond), result.Service.Quantile(q).Round(time.Microsecond))
	}
	return nil
}
