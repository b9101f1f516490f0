// Package raftgate keeps the garbage collections of a Raft group's members out of its writes:
// before a member collects, it hands the leadership to another one.
//
// A write waits for the leader and for the fastest majority. So a collection in a follower costs
// nothing, as long as the others are well, and one in the leader is met by each write while it
// lasts. The members agree, without any other service, on who collects when:
//
//   - never two at once, so that a majority always runs
//   - the followers first, the leader last: it waits until they have collected, asks those to do so now
//     that are more than half-way there, and then hands over to the one that has collected last, which
//     will lead for long. So there is one transfer for each round of the group
//   - to none that has stalled lately, if there is another. A successor that stalls is given up after
//     [Options].TransferTimeout, and another one is tried: during a transfer nothing is written
//
// # Use
//
// [New] makes a [Member], which is the gate's Signal and its Turns, and answers the other members'
// questions:
//
//	member, err := raftgate.New(raftgate.Options{
//		Raft: etcdraft.New(node), // or hashiraft.New(r, id)
//		Ask:  raftgate.AskHTTP(nil, func(id string) string { return "http://" + addresses[id] + "/raftgate" }),
//	})
//	defer member.Close() // after gate.Stop
//	mux.Handle("POST /raftgate", member)
//	gate, err := gcgate.Start(ctx, gcgate.Options{
//		Policy: gcgate.PolicyDrain, Signals: []gcgate.Signal{member}, Turns: member,
//		Replicas: 3, // members: the trigger leaves time for all others to go first
//		IdleRatio: 2, // TriggerRatio: a follower without requests is not idle
//	})
//
// This package imports nothing beside gcgate. [Raft] is all that it needs of a library;
// evenkeel.dev/contrib/raftgate/etcdraft has it for go.etcd.io/raft/v3,
// evenkeel.dev/contrib/raftgate/hashiraft for github.com/hashicorp/raft. They are modules of their
// own, so that nobody pays for the other.
//
// Count the requests of clients where they are served (httpgate, or Gate.Enter), so that the gate's
// figures tell how many of them met a collection. A proposal that comes while a transfer runs is
// refused by the library, or lost, and has to be proposed again, so that it must be safe to do so:
// that is all that is to be noticed of a transfer.
//
// # How the members agree
//
// Who wants to collect asks all others. A member says no while it collects, when it came first, and
// to the leader also when its own heap is more than half-way to its trigger: then it collects now.
// Who has said yes while it asked itself begins anew, so that two never have a yes each. A member
// whose process does not run ([ErrGone]) has no say. One that does not answer is taken to be one
// that collects, for five seconds: then it has none either, until it answers.
//
// A leader whose heap is past the middle between its trigger and its hard threshold lets nobody go
// first any more.
//
// # Without the turn
//
// A heap at its hard threshold does not wait for the turn. Then [Member.Drain] waits until no other
// member collects, for as long as the gate lets it: until all others may have collected, or the
// heap is half-way to where the runtime begins by itself. It hands the leadership over only to a
// member that answers and whose heap is less than half full: members whose heaps are all full, and
// that hand the leadership to and fro, were measured to cost several times what they save. Where
// there is none, the leader asks a follower to collect now, without the turn, and waits for that.
// If it takes longer than the gate lets it, the leader collects while it leads, as the stock
// runtime does at each collection.
//
// # What it does not promise
//
// The agreement is an optimisation. A member that is stopped for more than five seconds, and goes
// on then, may collect beside another one. Nothing may rest on it for correctness; that no write is
// lost is Raft's own work.
package raftgate
