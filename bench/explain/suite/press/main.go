//go:build linux

// Command press is a publishing house's service over HTTP/1.1, one of its features at a time. The driver, one folder up,
// knows what each of them suffers from; nothing in here says it, since names would end up in the binary.
package main

import (
	"crypto/tls"
	"io"
	"net/http"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// press is what the features share.
type press struct {
	start.Env
	client http.Client
}

// features are by number, as the driver's table has them.
var features = map[string]func(*press) (http.Handler, error){
	"31": newCache, "32": newSessions, "33": newOrders, "34": newReaders, "35": newPages, "36": newTray, "37": newIssue,
	"39": newDarkroom, "47": newUploads, "48": newPayments, "51": newPlates, "52": newConverter, "53": newSeals,
	"54": newImports, "55": newRegistry, "56": newIndex, "57": newAuthors,
	"61": newWatchdog, "62": newFrontDesk,
}

func main() {
	env := start.Read("press")
	p := press{Env: env}
	p.client.Transport = &http.Transport{
		MaxIdleConnsPerHost: 200,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // its certificate is made for this run
	}
	http.Handle("/press/{item}", start.Handler(env, features, &p))
	start.Serve(&http.Server{})
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

// fold makes one number of many, n times over.
func fold(seed uint64, n int) uint64 {
	for range n {
		seed = (seed ^ seed>>29) * 0x9e3779b97f4a7c15
	}
	return seed
}
