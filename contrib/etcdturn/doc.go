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
// while no replica waits. Otherwise it puts a key below GROUP/queue/ and takes a slot when no older
// key is there. TryAcquire does not overtake this queue.
//
// All keys have an etcd lease, which ends with [Turns.Close] or Options.TTL after the process. If
// no answer comes, a transaction may have been applied. The package then revokes the lease, and its
// keys with it, as soon as etcd answers.
//
// # Limits
//
// A turn is lost if etcd is away or the process is stopped for longer than the TTL, or if an
// operator deletes the key. The turn's Lost says so, and two replicas may collect at once. While
// etcd is away TryAcquire fails, and the gate collects without a turn at its hard limit. A slot's
// key that you write by hand, without a lease, holds the turn until you delete it.
//
// A cluster with TLS or passwords needs a client of yours. Start from [ClientConfig], because a
// client with etcd's defaults waits up to two minutes before it tries a dead server again.
package etcdturn
