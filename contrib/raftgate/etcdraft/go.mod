module evenkeel.dev/contrib/raftgate/etcdraft

go 1.26.0

require (
	evenkeel.dev v0.0.0
	evenkeel.dev/contrib/raftgate v0.0.0
	go.etcd.io/raft/v3 v3.7.0
)

require (
	go.uber.org/goleak v1.3.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace evenkeel.dev => ../../../

replace evenkeel.dev/contrib/raftgate => ../../../contrib/raftgate
