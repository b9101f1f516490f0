//go:build linux

// Command tsdb answers PromQL over Prometheus' TSDB.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"
)

const (
	series  = 200
	samples = 720 // of each: three hours
	step    = 15 * time.Second
)

func main() {
	log.SetFlags(0)
	dir := os.Getenv("DIR")
	db, end, err := fill(filepath.Join(dir, "tsdb"))
	if err != nil {
		log.Fatal("tsdb: ", err)
	}
	a := &api{db, end, promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute})}
	http.HandleFunc("GET /api/v1/query", a.query)
	http.HandleFunc("GET /api/v1/query_range", a.queryRange)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("tsdb: ", err)
	}
	fmt.Println("listening on", ln.Addr(), ln.Addr())
	log.Fatal("tsdb: ", (&http.Server{ReadHeaderTimeout: time.Minute}).Serve(ln))
}

func fill(dir string) (*tsdb.DB, time.Time, error) {
	db, err := tsdb.Open(dir, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return nil, time.Time{}, err
	}
	start := time.Now().Add(-samples * step)
	app := db.Appender(context.Background())
	for i := range series {
		l := labels.FromStrings("__name__", "requests_total", "instance", fmt.Sprint(i), "zone", fmt.Sprint(i%5))
		for j := range samples {
			if _, err := app.Append(0, l, start.Add(time.Duration(j)*step).UnixMilli(), float64(i*j)); err != nil {
				return nil, time.Time{}, err
			}
		}
	}
	return db, start.Add(samples * step), app.Commit()
}

type api struct {
	db     *tsdb.DB
	end    time.Time
	engine *promql.Engine
}

func (a *api) query(w http.ResponseWriter, r *http.Request) {
	q, err := a.engine.NewInstantQuery(r.Context(), a.db, nil, `requests_total{instance="7"}`, a.end)
	a.answer(w, r, q, err)
}

func (a *api) queryRange(w http.ResponseWriter, r *http.Request) {
	const query = `sum by (zone) (rate(requests_total[5m]))`
	q, err := a.engine.NewRangeQuery(r.Context(), a.db, nil, query, a.end.Add(-time.Hour), a.end, 30*time.Second)
	a.answer(w, r, q, err)
}

func (a *api) answer(w http.ResponseWriter, r *http.Request, q promql.Query, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer q.Close()
	if res := q.Exec(r.Context()); res.Err != nil {
		http.Error(w, res.Err.Error(), http.StatusInternalServerError)
	}
}
