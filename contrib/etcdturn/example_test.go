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

// Example takes turns with the other replicas of a search service. It is not run: it needs
// an etcd.
func Example() {
	turns, err := etcdturn.New(etcdturn.Options{
		Endpoints: []string{"etcd-1:2379", "etcd-2:2379", "etcd-3:2379"},
		Group:     "search",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer turns.Close()
	// And Signals: what the balancer reads.
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
