// Package hashiraft is a group of github.com/hashicorp/raft for evenkeel.dev/contrib/raftgate. It
// hands the leadership to another member before this one collects garbage.
//
// The library cannot give up a transfer. It refuses writes until the successor leads or has
// refused, or for Config.ElectionTimeout, a second by default. NetworkTransport waits for a
// successor that stalls, often ten seconds. Use [Transport], which waits 15 ms:
//
//	network, err := raft.NewTCPTransport(...)
//	transport := &hashiraft.Transport{NetworkTransport: network}
//	r, err := raft.NewRaft(config, fsm, logs, stable, snapshots, transport)
//
// Set a short election timeout. A successor that hears of the transfer late ends the leader's term,
// and the group may have to wait for that timeout.
//
// The library does not say which followers are behind.
package hashiraft
