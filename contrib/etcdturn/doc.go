// Package etcdturn lets the replicas of a service take turns at collecting garbage. An etcd decides
// which K of a group may collect at once, so that the others carry the load.
//
// [New] returns a [gcgate.Turns] for gcgate.Options.Turns. Use it for replicas on several machines
// that can reach an etcd.
//
// # How it works
//
// A group has K slots, the keys /evenkeel/gcgate/GROUP/0 to K-1. The value names the holder:
//
//	etcdctl get --prefix /evenkeel/gcgate/
//
// [Turns.TryAcquire] takes the first free slot by one transaction. [Turns.Acquire] does the same
// while no replica waits. Otherwise it puts a key below /evenkeel/gcgate/GROUP/queue/0/ and watches
// the group. It takes a slot when no older key is there: first come, first served. With
// Options.Last the key is below queue/1/, and all of queue/0/ go first. TryAcquire does not
// overtake the queue.
//
// The keys have an etcd lease, which the first TryAcquire grants and which is kept alive until
// [Turns.Close]. It ends with the process. So the slot of a dead holder, and its place in the
// queue, is free after Options.TTL.
//
// If no answer comes, a transaction may have been applied. The package then revokes the lease, and
// its keys with it, as soon as etcd answers. The next TryAcquire revokes it first.
//
// # Limits
//
// Turns are an optimisation, so a collection needs no fencing. A turn is lost if etcd is away or
// the process is stopped for longer than the TTL, or if an operator deletes the key. The turn's
// Lost says so, and two replicas may collect at once.
//
// While etcd is away TryAcquire fails, and the gate collects without a turn at its hard limit.
//
// A slot's key that you write by hand, without a lease, holds the turn until you delete it.
//
// # The client
//
// With Options.Endpoints the package makes a client from [ClientConfig]. A cluster with TLS or
// passwords needs a client of yours. Start from ClientConfig, because a client with etcd's defaults
// waits up to two minutes before it tries a dead server again.
package etcdturn
