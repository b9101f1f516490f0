//go:build linux

// Command shop is a web shop's service over HTTP/1.1, one of its features at a time. The driver, one folder up, knows
// what each of them suffers from; nothing in here says it, since names would end up in the binary.
package main

import (
	"io"
	"net/http"

	"evenkeel.dev/bench/explain/suite/internal/start"
)

// shop is what the features share.
type shop struct {
	start.Env
	client http.Client
}

// features are by number, as the driver's table has them.
var features = map[string]func(*shop) (http.Handler, error){
	"1": newPrices, "2": newStock, "3": newLedger, "4": newTill, "5": newCourier, "6": newReviews, "7": newRates, "8": newMail,
	"9": newNotices, "10": newLabels, "11": newDrafts, "13": newPictures, "14": newShipping, "15": newOffers, "16": newCatalog,
	"17": newAdvice, "18": newArchive, "19": newSearch, "20": newSessions, "21": newBasket,
}

func main() {
	env := start.Read("shop")
	s := shop{Env: env}
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 200}
	http.Handle("GET /shop/{item}", start.Handler(env, features, &s))
	start.Serve(&http.Server{})
}

// get asks a service behind.
func (s *shop) get(path string) ([]byte, error) {
	res, err := s.client.Get(s.Upstream + path)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}
