//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"evenkeel.dev/aio"
	"evenkeel.dev/contrib/prometheus/promaio"
	"evenkeel.dev/contrib/prometheus/promgate"
	"evenkeel.dev/contrib/prometheus/promrecorder"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/gcgate/httpgate"
	"evenkeel.dev/reqtrace/recorder"
)

const deployPrometheus = "../deploy/prometheus"

// analysed bounds the wait for a recorder's analysis on a busy machine.
const analysed = 10 * time.Minute

func TestAlertRules(t *testing.T) {
	promtool := server(t, "promtool")
	for _, args := range [][]string{
		{"check", "rules", filepath.Join(deployPrometheus, "alerts.yaml")},
		{"test", "rules", filepath.Join(deployPrometheus, "alerts-test.yaml")},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// observed is a service with a gate over a simulated heap, a recorder of all requests, and a
// watcher.
type observed struct {
	*httptest.Server
	gate    *gcgate.Gate
	watcher *aio.Watcher
}

func startObserved(t *testing.T) *observed {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	gate, err := gcgate.Start(t.Context(), gcgate.Options{
		Policy: gcgate.PolicyThrough, Collector: gcgatetest.NewHeap(), Logger: quiet,
		Turns: gcgate.FileTurns{Path: filepath.Join(t.TempDir(), "turn")}, Replicas: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gate.Stop(context.Background()) })
	rec, err := recorder.Start(t.Context(), recorder.Options{
		Slow: time.Millisecond, Every: time.Second, CPU: 1, InProcess: true, Dir: t.TempDir(), Logger: quiet,
		TraceID: func(context.Context) string { return "4bf92f3577b34da6a3ce929d0e0e4736" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Stop(context.Background()) })
	slow := promrecorder.New(rec)
	t.Cleanup(slow.Close)
	watcher, err := aio.New(aio.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { watcher.Close() })
	registry := prometheus.NewRegistry()
	registry.MustRegister(promgate.New(gate), slow, promaio.New(watcher))
	shop := http.NewServeMux()
	shop.HandleFunc("GET /orders", func(http.ResponseWriter, *http.Request) { time.Sleep(20 * time.Millisecond) })
	mux := http.NewServeMux()
	mux.Handle("/", httpgate.Wrap(gate, rec.Middleware(shop)))
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	s := &observed{httptest.NewServer(mux), gate, watcher}
	t.Cleanup(s.Close)
	return s
}

// prom is a Prometheus server that scrapes a service each second.
type prom struct {
	url string
}

func startPrometheus(t *testing.T, target string) *prom {
	t.Helper()
	bin := server(t, "prometheus")
	rules, err := filepath.Abs(filepath.Join(deployPrometheus, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dir, addr := t.TempDir(), freePort(t)
	conf := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs: [{job_name: shop, static_configs: [{targets: [%q]}]}]\n", rules, target)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	startServer(t, addr, nil, bin, "--config.file="+conf, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+addr, "--enable-feature=exemplar-storage")
	return &prom{"http://" + addr}
}

func (p *prom) get(t *testing.T, path string, query url.Values, v any) error {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/api/v1/"+path+"?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: v}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return fmt.Errorf("status %d: %w", res.StatusCode, err) // it is starting
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", res.Status, answer.Error)
	}
	return nil
}

func (p *prom) samples(t *testing.T, expr string) (int, error) {
	var data struct{ Result []any }
	err := p.get(t, "query", url.Values{"query": {expr}}, &data)
	return len(data.Result), err
}

// panels returns the dashboard's expressions.
func panels(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployPrometheus, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			list = append(list, strings.NewReplacer("$__rate_interval", "1m", "$job", ".+", "$instance",
				".+").Replace(target.Expr))
		}
	}
	return list
}

// TestPrometheus has a Prometheus server scrape a service, evaluate all rules, and answer the
// dashboard's expressions. Slow requests have exemplars.
func TestPrometheus(t *testing.T) {
	server(t, "prometheus")
	s := startObserved(t)
	p := startPrometheus(t, strings.TrimPrefix(s.URL, "http://"))
	work := func() { // something for each figure
		res, err := s.Client().Get(s.URL + "/orders")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if err := s.gate.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.watcher.Post(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.watcher.WaitIO(); err != nil {
			t.Fatal(err)
		}
	}

	exprs := panels(t)
	if len(exprs) < 20 {
		t.Fatalf("the dashboard has %d expressions", len(exprs))
	}
	// There is no memory limit here, and no snapshot fails.
	missing := []string{"evenkeel_gate_memory_limit_bytes", "evenkeel_recorder_failed_snapshots_total"}
	for _, expr := range exprs {
		eventuallyWithin(t, analysed, "samples of "+expr, func() bool {
			work()
			n, err := p.samples(t, expr)
			if err != nil && strings.Contains(err.Error(), "parse") {
				t.Fatal(err)
			}
			for _, name := range missing {
				if strings.Contains(expr, name) {
					return err == nil
				}
			}
			return err == nil && n > 0
		})
	}

	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	eventually(t, "each rule is evaluated", func() bool {
		if err := p.get(t, "rules", nil, &rules); err != nil {
			return false
		}
		n := 0
		for _, g := range rules.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health == "ok" {
					n++
				}
			}
		}
		return n >= 13
	})

	var exemplars []struct {
		Exemplars []struct{ Labels map[string]string }
	}
	eventuallyWithin(t, analysed, "an exemplar", func() bool {
		work()
		now := time.Now()
		query := url.Values{
			"query": {`evenkeel_recorder_lost_seconds_total`},
			"start": {now.Add(-time.Hour).Format(time.RFC3339)}, "end": {now.Add(time.Minute).Format(time.RFC3339)},
		}
		err := p.get(t, "query_exemplars", query, &exemplars)
		return err == nil && len(exemplars) > 0 && len(exemplars[0].Exemplars) > 0
	})
	if labels := exemplars[0].Exemplars[0].Labels; labels["snapshot"] == "" ||
		labels["trace_id"] != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("the exemplar has %v", labels)
	}
}
