package etcdturn_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"evenkeel.dev/contrib/etcdturn"
	"evenkeel.dev/gcgate"
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
	gate, err := gcgate.Start(gcgate.Options{Turns: turns}) // and Signals: what the balancer reads
	if err != nil {
		log.Fatal(err)
	}
	defer gate.Stop(context.Background())
	log.Fatal(http.ListenAndServe(":8080", gate.Middleware(http.DefaultServeMux)))
}

// New does not wait for etcd, but it checks its options.
func ExampleNew() {
	_, err := etcdturn.New(etcdturn.Options{Group: "search", K: 100})
	fmt.Println(err)
	// Output:
	// etcdturn: Options.K is 100: use 1 to 64
}
