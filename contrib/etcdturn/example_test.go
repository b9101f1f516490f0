package etcdturn_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/httpgate"
)

// Example is not run, because it needs an etcd.
func Example() {
	turns, err := etcdturn.New(etcdturn.Options{
		Endpoints: []string{"etcd-1:2379", "etcd-2:2379", "etcd-3:2379"},
		Group:     "search",
	})
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

// New does not wait for etcd, but it checks its options.
func ExampleNew() {
	_, err := etcdturn.New(etcdturn.Options{Group: "search", K: 100})
	fmt.Println(err)
	// Output:
	// etcdturn.Options.K: 100 is out of range: use 1 to 64
}
