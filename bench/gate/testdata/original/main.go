// Command original is gci-go v0.2 itself, for gate/hello and gate/literal. It is built without
// modules, together with work.go of bench/gate/service.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/gcinterceptor/gci-go/gccontrol"
	"github.com/gcinterceptor/gci-go/httphandler"
)

func main() {
	log.SetFlags(0)
	addr := flag.String("addr", "127.0.0.1:5100", "`host:port` to listen on")
	size := flag.Int("push", 0, "serve nothing: push messages of so many `bytes`, and print what came of it")
	length := flag.Duration("pushing", time.Second, "how long -push takes")
	flag.Bool("hello", true, "each request makes 10 x 1 MB and keeps nothing; there is nothing else")
	flag.Parse()
	if *size > 0 {
		if err := push(*size, *length); err != nil {
			log.Fatal("original: ", err)
		}
		return
	}
	http.Handle("/", httphandler.GCI(http.HandlerFunc(garbage)))
	http.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) { // which no interceptor sees
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Fprintf(w, `{"runtime": {"collections": %d}}`, m.NumGC)
	})
	log.Fatal("original: ", http.ListenAndServe(*addr, nil))
}

// push is the loop of its benchmark. An operation that is refused waits for as long as gci-go says.
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
	slices.Sort(took)
	err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"ops": n, "refused": refused, "mean": sum / n, "p99": took[len(took)*99/100], "each": each,
	})
	_, _ = io.Copy(io.Discard, os.Stdin)
	return err
}
