// Package etcdraft is a group of go.etcd.io/raft/v3 for evenkeel.dev/contrib/raftgate: leadership
// goes to another member before this one collects its garbage.
//
// A transfer of that library can be given up: meanwhile it drops proposals, and the leader that
// asks for a transfer to itself takes them again. The successor may have been told already, and
// wake up later. Where the leadership has gone to somebody else by then, it stands for an election
// of a term that is over. Where it has not, it ends the leader's term without being able to win;
// the old leader, which watches for that for two seconds, then stands again at once, as the group
// would else wait for an election timeout.
package etcdraft
