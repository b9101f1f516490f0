//go:build linux

// Command press is a publishing house's service over HTTP/1.1, one of its features at a time. The driver, one folder up,
// knows what each of them suffers from; nothing in here says it, since names would end up in the binary.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"time"
)

// press is what the features share.
type press struct {
	upstream string // URL of the services behind
	secure   string // URL of one of them over TLS
	dir      string // for files
	client   http.Client
}

// features are by number, as the driver's table has them.
var features = map[string]func(*press) (http.Handler, error){
	"31": newCache, "32": newSessions, "33": newOrders, "34": newReaders, "35": newPages, "36": newTray, "37": newIssue,
	"39": newDarkroom, "47": newUploads, "48": newPayments, "51": newPlates, "52": newConverter, "53": newSeals,
	"54": newImports, "55": newRegistry, "56": newIndex, "57": newAuthors,
}

func main() {
	log.SetFlags(0)
	p := press{upstream: os.Getenv("UPSTREAM"), secure: os.Getenv("SECURE"), dir: os.Getenv("DIR")}
	p.client.Transport = &http.Transport{
		MaxIdleConnsPerHost: 200,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // its certificate is made for this run
	}
	feature := features[os.Getenv("FEATURE")]
	if feature == nil {
		log.Fatalf("press: FEATURE=%s: there is none", os.Getenv("FEATURE"))
	}
	h, err := feature(&p)
	if err != nil {
		log.Fatal("press: ", err)
	}
	http.Handle("/press/{item}", h)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("press: ", err)
	}
	fmt.Println("listening on", ln.Addr(), ln.Addr())
	log.Fatal("press: ", (&http.Server{ReadHeaderTimeout: time.Minute}).Serve(ln))
}

// get asks a service behind.
func (p *press) get(url string) ([]byte, error) {
	res, err := p.client.Get(url)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}

// every calls f again and again.
func every(d time.Duration, f func()) {
	for range time.Tick(d) {
		f()
	}
}

// fold makes one number of many, n times over.
func fold(seed uint64, n int) uint64 {
	for range n {
		seed = (seed ^ seed>>29) * 0x9e3779b97f4a7c15
	}
	return seed
}

func fail(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}
