// Package hashiraft is a group of github.com/hashicorp/raft for evenkeel.dev/contrib/raftgate.
//
// The library cannot give up a transfer. It refuses writes until the successor leads or has
// refused, or for Config.ElectionTimeout, a second by default. NetworkTransport waits for a
// successor that stalls, often ten seconds. Use [Transport], which waits 15 ms:
//
//	network, err := raft.NewTCPTransport(...)
//	transport := &hashiraft.Transport{NetworkTransport: network}
//	r, err := raft.NewRaft(config, fsm, logs, stable, snapshots, transport)
//
// Set a short election timeout, because a successor that hears of the transfer late ends the
// leader's term. The library does not say which followers are behind.
package hashiraft
