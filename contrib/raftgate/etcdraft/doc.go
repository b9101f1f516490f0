// Package etcdraft is a group of go.etcd.io/raft/v3 for evenkeel.dev/contrib/raftgate.
//
// A transfer can be given up, and the leader takes proposals again. The successor may hear of it
// later, and end the leader's term without being able to win. For two seconds the old leader looks
// for that, and then campaigns at once. Otherwise the group would wait for an election timeout.
package etcdraft
