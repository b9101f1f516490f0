// Package hashiraft is a group of github.com/hashicorp/raft for evenkeel.dev/contrib/raftgate:
// leadership goes to another member before this one collects its garbage.
//
// That library cannot give a transfer up: it refuses writes until the successor leads, until it has
// refused, or until Config.ElectionTimeout is over, which is a second by default. A successor that
// stalls in between does not answer TimeoutNow, and NetworkTransport waits for that for its own
// timeout, often ten seconds. So use [Transport] in place of it, which waits for a moment only:
//
//	network, err := raft.NewTCPTransport(...)
//	transport := &hashiraft.Transport{NetworkTransport: network}
//	r, err := raft.NewRaft(config, fsm, logs, stable, snapshots, transport)
//
// A successor that hears of it late stands for the leadership yet. It ends the leader's term then,
// and where it lacks what was written meanwhile the group waits for an election timeout: keep that
// short.
//
// Transport does not pipeline either: see [Transport.AppendEntriesPipeline].
//
// The library does not tell how far each follower is, either. That raftgate asks a successor
// before it hands over makes it unlikely that one is chosen that stalls.
package hashiraft
