// Command original is the Garbage Collector Control Interceptor for Go (gci-go v0.2) itself, for the driver's parts hello, shedding and literal, which
// build it from the folder of gci-go that -original names: that is older than modules, and in none that can be required.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/examples/msgpush/window"
	"github.com/gcinterceptor/gci-go/gccontrol"
	"github.com/gcinterceptor/gci-go/httphandler"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("addr", "127.0.0.1:5100", "`host:port` to listen on")
	size := flag.Int("push", 0, "serve nothing: push messages of so many `bytes`, and say what came of it")
	length := flag.Duration("pushing", time.Second, "how long -push takes")
	hello := flag.Bool("hello", false, "each request makes 10 x 1 MB and keeps nothing, in the place of messages")
	bytes := flag.Int("size", 1024, "`bytes` of a message")
	batch := flag.Int("batch", 64, "`messages` that a request pushes")
	live := flag.Int("window", 300000, "`messages` that live")
	shape := flag.String("shape", "ptr", "`shape` of a message")
	flag.Parse()
	if *size > 0 {
		if err := push(*size, *length); err != nil {
			log.Fatal("original: ", err)
		}
		return
	}
	var handler http.Handler = http.HandlerFunc(garbage)
	if !*hello {
		if err := window.Check(*shape, *bytes, *live); err != nil {
			log.Fatal("original: ", err)
		}
		handler = window.New(*shape, *bytes, *live).Handler(*batch)
	}
	http.Handle("/", httphandler.GCI(handler))
	http.Handle("/stats", window.StatsHandler(nil)) // which no interceptor sees
	log.Fatal("original: ", http.ListenAndServe(*addr, nil))
}

// garbage is the workload of its hello, as subject has it.
func garbage(w http.ResponseWriter, _ *http.Request) {
	sum := 0
	for i := range 10 {
		b := make([]byte, 1e6)
		b[i] = byte(i)
		sum += int(b[0]) + int(b[i])
	}
	fmt.Fprintln(w, "hello", sum)
}

// push is the loop of its benchmark, as subject has it under other policies: who is refused waits for as long as it is told, and the timer runs
// while a message is pushed.
func push(size int, length time.Duration) error {
	gci := gccontrol.NewInterceptor()
	var refused int64
	var sum time.Duration
	var took []time.Duration
	start := time.Now()
	for len(took) == 0 || time.Since(start) < length {
		r := gci.Before()
		if r.ShouldShed {
			refused++
			time.Sleep(r.Unavailabity)
		}
		begun := time.Now()
		pushLocally(size, len(took))
		d := time.Since(begun)
		gci.After(r)
		sum += d
		took = append(took, d)
	}
	n := time.Duration(len(took))
	each := time.Since(start) / n
	peak, err := peakRSS()
	if err != nil {
		return err
	}
	slices.Sort(took)
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ops": n, "refused": refused, "mean_ns": sum / n, "p99_ns": took[len(took)*99/100], "each_ns": each, "peak_rss_bytes": peak,
	})
}

// peakRSS returns the most memory that this process has had resident, in bytes: what machine.PeakRSS says, which an import from here does not find.
func peakRSS() (int64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), "\nVmHWM:")
	var kib int64
	_, err = fmt.Sscan(rest, &kib)
	return kib << 10, err
}

//go:noinline
func pushLocally(size, i int) {
	var window [200_000][]byte
	m := make([]byte, size)
	for k := range m {
		m[k] = byte(k)
	}
	window[i%len(window)] = m
}
