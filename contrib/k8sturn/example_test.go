package k8sturn_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/httpgate"
)

// Example is not run, because it needs a cluster.
func Example() {
	turns, err := k8sturn.New(k8sturn.Options{Group: "search"})
	if err != nil {
		log.Fatal(err)
	}
	defer turns.Close()
	// Also set Signals.
	gate, err := gcgate.Start(context.Background(), gcgate.Options{Turns: turns})
	if err != nil {
		log.Fatal(err)
	}
	defer gate.Stop(context.Background())
	log.Fatal(http.ListenAndServe(":8080", httpgate.Wrap(gate, http.DefaultServeMux)))
}

// New does not wait for the API server, but it checks its options.
func ExampleNew() {
	_, err := k8sturn.New(k8sturn.Options{
		URL: "https://127.0.0.1:6443", Client: &http.Client{}, Group: "search",
		K: 100,
	})
	fmt.Println(err)
	// Output:
	// k8sturn.Options.K: 100 is out of range: use 1 to 16
}
