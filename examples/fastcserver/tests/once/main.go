// Command once loads each endpoint of fastcserver, and prints what clients and handlers take. It is
// a closed loop, as ApacheBench is. run_once.sh runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "run_once:", err)
		os.Exit(1)
	}
}

const usage = "usage: tests/run_once.sh REQUESTS CONCURRENCY SIZE LOOP, such as 200 10 62 2"

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("once", flag.ContinueOnError)
	server := flags.String("server", "127.0.0.1:8080", "`host:port` of the server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var n [4]int // requests, connections, size, loop
	if flags.NArg() != len(n) {
		return fmt.Errorf("%d arguments, want %d; %s", flags.NArg(), len(n), usage)
	}
	for i, arg := range flags.Args() {
		var err error
		if n[i], err = strconv.Atoi(arg); err != nil || n[i] < 1 || n[i] > 1_000_000_000 {
			return fmt.Errorf("%q is not a number from 1 to 1000000000; %s", arg, usage)
		}
	}
	requests, connections, work := n[0], n[1], fmt.Sprintf("/%d/%d", n[2], n[3])
	if connections > requests {
		return fmt.Errorf("%d connections for %d requests: ask for at least one each", connections, requests)
	}
	l := &load{
		url:    "http://" + *server,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}, Timeout: time.Minute},
	}
	if _, err := l.get("/blockcall" + work); err != nil {
		return fmt.Errorf("%w\nstart the server in another terminal, from examples/: go run ./fastcserver", err)
	}
	fmt.Fprintf(stdout, "%d requests a line, %d connections, to %s; milliseconds\n", requests, connections, l.url)
	const row = "%-18s %10s %9s %9s %9s %13s %13s\n"
	fmt.Fprintf(stdout, row, "", "requests/s", "p50", "p99", "max", "handler p50", "handler p99")
	var shown []series
	for _, path := range []string{
		"/cgo" + work, "/blockcall" + work, "/yield" + work, "/adaptive" + work, "/go" + work, "/many/cgo",
		"/many/fast",
	} {
		s, err := l.run(path, requests, connections)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, row, path, strconv.Itoa(int(float64(requests)/s.took.Seconds())),
			ms(s.client, 0.5), ms(s.client, 0.99), ms(s.client, 1), ms(s.handler, 0.5), ms(s.handler, 0.99))
		if len(shown) < 2 {
			shown = append(shown, s)
		}
	}
	histogram(stdout, shown)
	return nil
}

// series is what the requests of one path took, sorted.
type series struct {
	path            string
	took            time.Duration
	client, handler []time.Duration
}

type load struct {
	url    string
	client *http.Client
}

// run sends requests. Each connection sends the next when its last was answered.
func (l *load) run(path string, requests, connections int) (series, error) {
	var wg sync.WaitGroup
	parts, errs := make([]series, connections), make([]error, connections)
	start := time.Now()
	for c := range connections {
		wg.Go(func() {
			p := &parts[c]
			for range requests/connections + min(1, max(0, requests%connections-c)) {
				begin := time.Now()
				handler, err := l.get(path)
				if err != nil {
					errs[c] = err
					return
				}
				p.client, p.handler = append(p.client, time.Since(begin)), append(p.handler, handler)
			}
		})
	}
	wg.Wait()
	s := series{path: path, took: time.Since(start)}
	for _, p := range parts {
		s.client, s.handler = append(s.client, p.client...), append(s.handler, p.handler...)
	}
	slices.Sort(s.client)
	slices.Sort(s.handler)
	return s, errors.Join(errs...)
}

// get returns what the handler took, which is in Server-Timing.
func (l *load) get(path string) (handler time.Duration, err error) {
	resp, err := l.client.Get(l.url + path)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	timing, ok := strings.CutPrefix(resp.Header.Get("Server-Timing"), "handler;dur=")
	took, err := strconv.ParseFloat(timing, 64)
	if resp.StatusCode != http.StatusOK || !ok || err != nil {
		return 0, fmt.Errorf("%s%s: status %s, Server-Timing %q: %.200s", l.url, path, resp.Status,
			resp.Header.Get("Server-Timing"), body)
	}
	return time.Duration(took * float64(time.Millisecond)), nil
}

// ms writes a quantile.
func ms(sorted []time.Duration, q float64) string {
	i := min(int(q*float64(len(sorted))), len(sorted)-1)
	return strconv.FormatFloat(float64(sorted[i])/float64(time.Millisecond), 'f', 2, 64)
}

// histogram draws the handlers of two paths, by bounds of 1, 2 and 5.
func histogram(w io.Writer, list []series) {
	const width = 30
	fmt.Fprintf(w, "\nhandler times of %s and %s, requests by milliseconds\n", list[0].path, list[1].path)
	lo := min(list[0].handler[0], list[1].handler[0])
	hi := max(list[0].handler[len(list[0].handler)-1], list[1].handler[len(list[1].handler)-1])
	below := time.Duration(0)
	for unit := 10 * time.Microsecond; below <= hi; unit *= 10 {
		for _, step := range []time.Duration{1, 2, 5} {
			bound := unit * step
			if bound > lo && below <= hi {
				fmt.Fprintf(w, "%7.2f to %-7.2f", float64(below)/1e6, float64(bound)/1e6)
				for _, s := range list {
					from, _ := slices.BinarySearch(s.handler, below)
					to, _ := slices.BinarySearch(s.handler, bound)
					n := to - from
					bar := strings.Repeat("█", (n*width+len(s.handler)-1)/len(s.handler))
					fmt.Fprintf(w, "  %6d %s%s", n, bar, strings.Repeat(" ", width-len([]rune(bar))))
				}
				fmt.Fprintln(w)
			}
			below = bound
		}
	}
}
