package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"evenkeel.dev/gcgate/client"
)

// Two replicas take turns; one that collects gets no requests until it is done.
func Example() {
	replica := func(name string) *httptest.Server {
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, name+" serves "+r.Host+r.URL.Path)
		}))
	}
	one, two := replica("one"), replica("two")
	defer one.Close()
	defer two.Close()

	transport := &client.Transport{Targets: []string{one.URL, two.URL}}
	defer transport.Close()
	c := &http.Client{Transport: transport}
	for range 2 {
		resp, err := c.Get("http://orders.internal/7")
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(string(body))
	}
	// Unordered output:
	// one serves orders.internal/7
	// two serves orders.internal/7
}
