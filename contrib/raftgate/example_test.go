package raftgate_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"evenkeel.dev/contrib/raftgate"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/gcgate/gcgatetest"
)

// pair is a group of two in one process.
type pair struct {
	id     string
	leader *atomic.Value // of both
}

func (p pair) Status() raftgate.Status {
	return raftgate.Status{ID: p.id, Leader: p.leader.Load().(string), Voters: []raftgate.Voter{{ID: "a"}, {ID: "b"}}}
}

func (p pair) Transfer(_ context.Context, to string) error {
	p.leader.Store(to)
	return nil
}

// A member that leads hands the leadership over before it collects.
func ExampleNew() {
	ctx := context.Background()
	leader := new(atomic.Value)
	leader.Store("a")
	members := map[string]*raftgate.Member{}
	for _, id := range []string{"a", "b"} {
		member, err := raftgate.New(raftgate.Options{
			Raft: pair{id, leader},
			Ask: func(_ context.Context, id string, question []byte) ([]byte, error) { // AskHTTP, between processes
				return members[id].Answer(question)
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer member.Close()
		members[id] = member
	}
	heap := gcgatetest.NewHeap() // the process's own without it
	heap.Rate = 0
	gate, err := gcgate.Start(ctx, gcgate.Options{
		Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{members["a"]}, Turns: members["a"], Replicas: 2,
		IdleRatio: 2, Collector: heap, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("leads:", leader.Load())
	if err := gate.Collect(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("leads after a has collected:", leader.Load(), "- transfers:", members["a"].Stats().Transfers)
	if err := gate.Stop(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// leads: a
	// leads after a has collected: b - transfers: 1
}
