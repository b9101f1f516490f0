//go:build linux

// Command shop is a web shop's service over HTTP/1.1, one of its features at a time. The driver, one folder up, knows
// what each of them suffers from; nothing in here says it, since names would end up in the binary.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"time"
)

// shop is what the features share.
type shop struct {
	upstream string // URL of the services behind
	names    string // address of the name server
	dir      string // for files
	client   http.Client
}

// features are by number, as the driver's table has them.
var features = map[string]func(*shop) (http.Handler, error){
	"1": newPrices, "2": newStock, "3": newLedger, "4": newTill, "5": newCourier, "6": newReviews, "7": newRates, "8": newMail,
	"9": newNotices, "10": newLabels, "11": newDrafts, "13": newPictures, "14": newShipping, "15": newOffers, "16": newCatalog,
	"17": newAdvice, "18": newArchive, "19": newSearch, "20": newSessions, "21": newBasket,
}

func main() {
	log.SetFlags(0)
	s := shop{upstream: os.Getenv("UPSTREAM"), names: os.Getenv("NAMES"), dir: os.Getenv("DIR")}
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 200}
	feature := features[os.Getenv("FEATURE")]
	if feature == nil {
		log.Fatalf("shop: FEATURE=%s: there is none", os.Getenv("FEATURE"))
	}
	h, err := feature(&s)
	if err != nil {
		log.Fatal("shop: ", err)
	}
	http.Handle("GET /shop/{item}", h)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("shop: ", err)
	}
	fmt.Println("listening on", ln.Addr(), ln.Addr())
	log.Fatal("shop: ", (&http.Server{ReadHeaderTimeout: time.Minute}).Serve(ln))
}

// get asks a service behind.
func (s *shop) get(path string) ([]byte, error) {
	res, err := s.client.Get(s.upstream + path)
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

func fail(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}
