package hashiraft_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"evenkeel.dev/contrib/raftgate"
	"evenkeel.dev/contrib/raftgate/hashiraft"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// patience ends what hangs.
const patience = 30 * time.Second

// stream is the network of a member, which can stop reading.
type stream struct {
	net.Listener
	mu     sync.Mutex
	moves  *sync.Cond
	frozen bool       // guarded by mu
	closed bool       // guarded by mu
	conns  []net.Conn // accepted; guarded by mu
}

func newStream(t *testing.T) *stream {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{Listener: ln}
	s.moves = sync.NewCond(&s.mu)
	return s
}

func (s *stream) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", string(addr), timeout)
}

func (s *stream) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, c)
	if s.closed {
		c.Close()
	}
	return &conn{c, s}, nil
}

// sever ends all connections.
func (s *stream) sever() {
	s.freeze(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, c := range s.conns {
		c.Close()
	}
}

func (s *stream) freeze(frozen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = frozen
	s.moves.Broadcast()
}

type conn struct {
	net.Conn
	stream *stream
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.stream.mu.Lock()
	defer c.stream.mu.Unlock()
	for c.stream.frozen {
		c.stream.moves.Wait()
	}
	return n, err
}

type noFSM struct{}

func (noFSM) Apply(*raft.Log) any                 { return nil }
func (noFSM) Snapshot() (raft.FSMSnapshot, error) { return nil, errors.New("no snapshots") }
func (noFSM) Restore(io.ReadCloser) error         { return errors.New("no snapshots") }

type server struct {
	id     string
	raft   *raft.Raft
	stream *stream
}

// newCluster starts members over loopback. The first one campaigns. bound is the transport's.
func newCluster(t *testing.T, bound time.Duration, ids ...string) map[string]*server {
	servers := map[string]*server{}
	var members raft.Configuration
	var first *raft.NetworkTransport
	for _, id := range ids {
		s := &server{id: id, stream: newStream(t)}
		// The timeout is longer than any wait of the tests.
		network := raft.NewNetworkTransport(s.stream, 3, 10*patience, io.Discard)
		if first == nil {
			first = network
		}
		members.Servers = append(members.Servers, raft.Server{ID: raft.ServerID(id), Address: network.LocalAddr()})
		config := raft.DefaultConfig()
		config.LocalID, config.Logger = raft.ServerID(id), hclog.NewNullLogger()
		// No election comes between, even if the machine stops for seconds.
		config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = 10*time.Second, 10*time.Second,
			5*time.Second
		logs := raft.NewInmemStore()
		transport := &hashiraft.Transport{NetworkTransport: network, Timeout: bound}
		var err error
		s.raft, err = raft.NewRaft(config, noFSM{}, logs, logs, raft.NewDiscardSnapshotStore(), transport)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // after all are severed
			if err := s.raft.Shutdown().Error(); err != nil {
				t.Error(err)
			}
			network.Close()
		})
		servers[id] = s
	}
	t.Cleanup(func() {
		for _, s := range servers {
			s.stream.sever()
		}
	})
	if err := servers[ids[0]].raft.BootstrapCluster(members).Error(); err != nil {
		t.Fatal(err)
	}
	stand := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	if err := first.TimeoutNow(members.Servers[0].ID, members.Servers[0].Address, stand,
		&raft.TimeoutNowResponse{}); err != nil {
		t.Fatal(err)
	}
	return servers
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so after %v: %s", patience, what)
		}
	}
}

// leader waits for one that can write.
func leader(t *testing.T, servers map[string]*server) (id string) {
	t.Helper()
	await(t, "somebody leads", func() bool {
		for _, s := range servers {
			if s.raft.State() == raft.Leader && s.raft.Apply([]byte("x"), time.Second).Error() == nil {
				id = s.id
				return true
			}
		}
		return false
	})
	return id
}

func others(servers map[string]*server, leader string) (ids []string) {
	for id := range servers {
		if id != leader {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestTransfer(t *testing.T) {
	servers := newCluster(t, patience, "a", "b", "c")
	old := leader(t, servers)
	group := hashiraft.New(servers[old].raft, raft.ServerID(old))
	if st := group.Status(); st.ID != old || st.Leader != old || len(st.Voters) != 3 {
		t.Fatalf("status %+v", st)
	}
	to := others(servers, old)[0]
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := group.Transfer(ctx, to); err != nil {
		t.Fatal(err)
	}
	await(t, "the successor leads", func() bool { return group.Status().Leader == to })
	if err := group.Transfer(ctx, "nobody"); err == nil {
		t.Error("the leadership went to nobody")
	}
}

// TestGivenUp has the successor stall before it is told. The leader takes writes again, and the
// other follower can lead.
func TestGivenUp(t *testing.T) {
	servers := newCluster(t, 50*time.Millisecond, "a", "b", "c")
	old := leader(t, servers)
	group := hashiraft.New(servers[old].raft, raft.ServerID(old))
	followers := others(servers, old)
	stalls, well := followers[0], followers[1]
	servers[stalls].stream.freeze(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	err := group.Transfer(ctx, stalls)
	cancel()
	if err == nil {
		t.Fatal("a member that stalls took over")
	}
	await(t, "the leader takes writes",
		func() bool { return servers[old].raft.Apply([]byte("y"), time.Second).Error() == nil })
	await(t, "the other one leads", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_ = group.Transfer(ctx, well) // on a busy machine the bound may be too short
		return group.Status().Leader == well
	})
	servers[stalls].stream.freeze(false)
	leader(t, servers)
}

func TestOneAtATime(t *testing.T) {
	network, err := raft.NewTCPTransport("127.0.0.1:0", nil, 3, patience, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	var transport raft.Transport = &hashiraft.Transport{NetworkTransport: network}
	if _, err := transport.AppendEntriesPipeline("b",
		network.LocalAddr()); err != raft.ErrPipelineReplicationNotSupported {
		t.Errorf("error %v", err)
	}
}

func TestMember(t *testing.T) {
	servers := newCluster(t, patience, "a", "b", "c")
	old := leader(t, servers)
	members := map[string]*raftgate.Member{}
	for id, s := range servers {
		m, err := raftgate.New(raftgate.Options{
			Raft: hashiraft.New(s.raft, raft.ServerID(id)), TransferTimeout: 5 * time.Second,
			Ask: func(_ context.Context, id string, q []byte) ([]byte, error) { return members[id].Answer(q) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		members[id] = m
	}
	if _, err := members[old].TryAcquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := members[old].Drain(t.Context(), time.Second); err != nil {
		t.Fatal(err)
	}
	if servers[old].raft.State() == raft.Leader {
		t.Error("it leads yet")
	}
	leader(t, servers)
}
