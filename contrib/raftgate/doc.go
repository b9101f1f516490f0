// Package raftgate keeps the garbage collections of a Raft group's members out of its writes.
// Before a member collects, it hands the leadership to another one.
//
// A write waits for the leader and for the fastest majority. A collection in a follower costs
// nothing while the others are well. One in the leader delays each write. The members agree,
// without any other service, on who collects when:
//
//   - Two members never collect at once, so that a majority always runs.
//   - The followers go first. The leader asks those that are more than half-way to collect now. Then
//     it hands over to the one that has collected last.
//   - A member that has stalled lately gets the leadership only if no other takes it. A transfer is
//     given up after [Options].TransferTimeout, because the group takes no writes during it.
//
// # Use
//
// [New] makes a [Member], which is the gate's Signal and its Turns, and answers the other members:
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
// The modules evenkeel.dev/contrib/raftgate/etcdraft and hashiraft implement [Raft].
//
// Count the requests of clients with httpgate or Gate.Enter. During a transfer the library refuses
// or loses proposals. Your service has to propose these again.
//
// # How the members agree
//
// A member that wants to collect asks all others. One says no while it collects, and if it asked
// first. It also says no to the leader if its own heap is more than half-way to its trigger, and
// then collects. If a member says yes while it asks for itself, it asks again, so that two never
// have a yes each. A member whose process does not run ([ErrGone]) has no say. One that does not
// answer counts as collecting for five seconds, and then has no say until it answers.
//
// A leader whose heap is half-way from its trigger to its hard limit does not wait for the
// followers.
//
// # Without the turn
//
// A heap at its hard limit does not wait for the turn. [Member.Drain] then waits until no other
// member collects, as long as the gate lets it. It hands the leadership only to a member whose heap
// is less than half full, because a full one soon hands it back. If there is none, it asks a
// follower to collect now. If the gate does not wait that long, the leader collects while it leads.
//
// # Limits
//
// A member that is stopped for more than five seconds may collect at the same time as another one.
// Raft itself keeps all writes.
package raftgate
