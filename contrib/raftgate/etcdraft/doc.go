// Package etcdraft is a group of go.etcd.io/raft/v3 for evenkeel.dev/contrib/raftgate: leadership goes
// to another member before this one collects its garbage.
//
// A transfer of that library can be given up: meanwhile it drops proposals, and the leader that asks for
// a transfer to itself takes them again. The successor may have been told already; when it wakes up later
// it stands for an election of a term that is over, if the leadership has gone to somebody else.
package etcdraft
