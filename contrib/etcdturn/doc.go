// Package etcdturn lets the replicas of a service take turns at collecting garbage, with etcd
// as the arbiter: at most K of a group collect at once, so that the others carry their load.
//
// [New] returns a [gcgate.Turns] for gcgate.Options.Turns. Use it for replicas on several
// machines that can reach an etcd.
//
// # How it works
//
// A group has K slots, the keys /evenkeel/gcgate/GROUP/0 to K-1; the value says who has it:
//
//	etcdctl get --prefix /evenkeel/gcgate/
//
// [Turns.TryAcquire] is one transaction that takes the first free slot, whatever K is: one
// round trip. It waits for no holder. [Turns.Acquire] does the same while nobody waits; else it
// puts a key of its own below /evenkeel/gcgate/GROUP/queue/0/, whose revision is its place, watches
// the group, and takes a slot, in one transaction that holds only while no older key is there, when
// it comes to that: first come, first served. With Options.Last the key is below queue/1/, and all
// of queue/0/ go first. TryAcquire passes nobody who waits.
//
// The keys hang on an etcd lease that is granted at the first TryAcquire and kept alive until
// [Turns.Close]. A lease for each turn would cost two more writes to the cluster's log, one of
// them while requests are drained; keeping one alive is a message every third of the TTL that
// writes nothing. The lease ends with the process, so that a dead holder's slot, and the place of
// one that waits, is free after Options.TTL.
//
// When it is unknown whether a transaction was applied, because no answer came in time, the
// lease is given up: it is revoked in the background as soon as etcd answers, and by the TTL
// at the latest, with all that hangs on it. The next TryAcquire revokes it first, so that a
// process never waits for a slot that it left behind.
//
// # What it does not promise
//
// Taking turns is an optimisation. A turn can be lost, when etcd is away for longer than the
// TTL, when the process is stopped that long, or when an operator deletes the key; the lease
// says so through Lost, and two replicas may collect at once then. That costs latency. Nothing
// may rest on it for correctness: there is no fencing, and none is needed for a collection.
//
// When etcd is away TryAcquire fails, at its context's deadline at the latest, and the gate
// collects without a turn at its hard threshold.
//
// Writing a slot's key by hand, without a lease, holds the turn for good: nobody in the group
// collects in turn until the key is deleted.
//
// # The client
//
// With Options.Endpoints the package makes its own client from [ClientConfig]. A cluster with
// TLS or passwords needs a client of yours: start from ClientConfig, since the defaults wait
// up to two minutes before they try a dead server again. A server whose process died is
// noticed at once, a machine that vanished about a second after the next message to it.
package etcdturn
