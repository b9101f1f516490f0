// Command server answers what bench/load sends: "/" at once; "/work" after some 0.5 ms of
// computing; "/wait" after 20 ms of waiting; "/stall" as a service that stalls for 200 ms at the
// start of each second and needs 20 ms a request otherwise.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	period := flag.Duration("period", time.Second, "time from one stall to the next")
	stall := flag.Duration("stall", 200*time.Millisecond, "length of a stall")
	service := flag.Duration("service", 20*time.Millisecond, "time that a request takes outside a stall")
	flag.Parse()
	start := time.Now()
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "hello, world\n")
	})
	block := make([]byte, 1<<20)
	http.HandleFunc("/work", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "%x\n", sha256.Sum256(block))
	})
	http.HandleFunc("/wait", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(*service)
		io.WriteString(w, "hello, world\n")
	})
	http.HandleFunc("/stall", func(w http.ResponseWriter, _ *http.Request) {
		// Nothing moves in a stall: a request that arrives in one starts at its end.
		wait := *service
		if into := time.Since(start) % *period; into < *stall {
			wait += *stall - into
		}
		time.Sleep(wait)
		io.WriteString(w, "hello, world\n")
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	io.WriteString(os.Stdout, "http://"+l.Addr().String()+"\n")
	log.Fatal(http.Serve(l, nil))
}
