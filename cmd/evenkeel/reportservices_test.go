package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/history"
	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/reqtrace/recorder"
	"evenkeel.dev/reqtrace/region"
)

// asService in the environment has the test binary be a service, which calls the URL in it, if any.
// A process has one recorder.
const asService = "EVENKEEL_TEST_AS_SERVICE"

// serveOrders prints its address, and ends with its standard input.
func serveOrders(next string) {
	rec, err := recorder.Start(context.Background(), recorder.Options{
		Slow: 50 * time.Millisecond, Every: time.Second, CPU: 1,
	})
	if err != nil {
		panic(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go reload()
	client := &http.Client{Transport: region.Transport(nil)}
	orders := http.NewServeMux()
	orders.HandleFunc("GET /orders", func(_ http.ResponseWriter, q *http.Request) {
		if next == "" {
			waitForReload()
		} else {
			ask(q.Context(), client, next)
		}
	})
	mux := http.NewServeMux()
	mux.Handle("/", rec.Middleware(orders))
	mux.Handle("/debug/evenkeel/", rec)
	fmt.Println("http://" + ln.Addr().String())
	go func() { panic(http.Serve(ln, mux)) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func ask(ctx context.Context, c *http.Client, url string) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/orders", nil)
	if err != nil {
		panic(err)
	}
	res, err := c.Do(q)
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
}

var (
	prices  sync.Mutex
	reloads = make(chan chan bool)
)

func waitForReload() {
	held := make(chan bool)
	reloads <- held
	<-held
	prices.Lock()
	prices.Unlock() //nolint:staticcheck // it waits
}

// reload holds the lock for a while each time, after it has said so.
func reload() {
	for held := range reloads {
		prices.Lock()
		close(held)
		time.Sleep(300 * time.Millisecond)
		prices.Unlock()
	}
}

func startService(t *testing.T, next string) (url string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), asService+"="+next)
	c.Stderr = os.Stderr
	in, inErr := c.StdinPipe()
	out, outErr := c.StdoutPipe()
	if err := errors.Join(inErr, outErr, c.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = c.Wait() })
	if _, err := fmt.Fscanln(out, &url); err != nil {
		t.Fatal(err)
	}
	return url
}

// TestReportServices tests that a lock two services away is what the first one's slow requests
// waited for, as text, JSON and a page.
func TestReportServices(t *testing.T) {
	testutil.Slow(t, "it starts three processes")
	last := startService(t, "")
	middle := startService(t, last)
	shop := startService(t, middle)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	args := []string{"report", "shop=" + shop, "stock=" + middle, "prices=" + last, "gone=" + gone}
	cause := "prices, through stock: waiting for a lock that evenkeel.reload holds, in evenkeel.waitForReload"
	want := "% of shop's slow requests waited for " + cause + ".\n1 replica of shop, all that is kept: seen "
	var r result
	// On a starved machine later snapshots have it.
	for end := time.Now().Add(2 * time.Minute); !strings.Contains(r.stdout, want); {
		if time.Now().After(end) {
			t.Fatal(r.stdout, r.stderr)
		}
		ask(t.Context(), client, shop)
		r = call(args...)
	}
	t.Log(r.stdout)
	r.check(t, cli.ExitOK, []string{
		"joined with other services: ", " waiting for " + cause + ", in GET /orders", "(reportservices_test.go:",
		"! " + gone,
		"% of stock's slow requests waited for prices: waiting for a lock", "prices: ",
		"gone: the replicas do not answer",
	}, nil)

	page := filepath.Join(t.TempDir(), "page.html")
	r = call(append(args, "-json", "-html", page)...)
	var j struct {
		Services []struct {
			Service  string
			Answered int
			History  history.History
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &j); err != nil || len(j.Services) != 4 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	s := j.Services[0].History.Summaries(time.Time{})
	if j.Services[0].Service != "shop" || len(s) == 0 || s[0].Key.Services != "stock/prices" ||
		s[0].Key.Class != "GET /orders" || j.Services[3].Answered != 0 {
		t.Errorf("%+v, %+v", j, s)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"waiting for " + cause, "of shop&#39;s slow requests waited for prices, through stock",
		"1 replica of shop", "% of stock&#39;s slow requests waited for prices",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	call("report", "shop="+shop, last).check(t, cli.ExitUsage, nil,
		[]string{last + " has no service name; write SERVICE=" + last + ", as for shop"})
	again := strings.Replace(last, "127.0.0.1", "localhost", 1)
	call("report", "shop="+shop, "prices="+last, "stock="+again).check(t, cli.ExitFailed, nil,
		[]string{last + " and " + again + " are the same process, so it cannot be both prices and stock"})
}
