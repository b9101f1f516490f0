package kv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/encoding/protodelim"
)

const (
	queueLength = 4096            // messages for one member; more are dropped
	streamFor   = time.Second     // how long a POST carries what comes; a server that shuts down waits as long
	maxBody     = 64 << 20        // bytes of one POST
	postTimeout = 5 * time.Second // of one POST
	failPause   = 10 * time.Millisecond
)

// peer sends messages to another member, in their order.
type peer struct {
	node   *Node
	id     uint64
	url    string
	queue  chan message
	client *http.Client
}

type message struct {
	data     []byte
	snapshot bool
}

func newPeer(n *Node, id uint64, url string) *peer {
	return &peer{
		node: n, id: id, url: url + "/raft", queue: make(chan message, queueLength),
		client: &http.Client{Timeout: postTimeout, Transport: &http.Transport{}},
	}
}

// send marshals at once, because the library may change m later.
func (p *peer) send(m *raftpb.Message) error {
	var data bytes.Buffer
	if _, err := protodelim.MarshalTo(&data, m); err != nil {
		return err
	}
	out := message{data.Bytes(), m.GetType() == raftpb.MsgSnap}
	select {
	case p.queue <- out:
	default:
		if out.snapshot {
			p.report(raft.SnapshotFailure)
		}
	}
	return nil
}

// report tells the library what became of a snapshot.
func (p *peer) report(status raft.SnapshotStatus) {
	p.node.running.Go(func() { p.node.raft.ReportSnapshot(p.id, status) }) // the caller may be the library's loop
}

func (p *peer) run(ctx context.Context) {
	for {
		var s *stream
		select {
		case <-ctx.Done():
			return
		case m := <-p.queue:
			s = newStream(ctx, p.queue, m)
		}
		err := p.post(ctx, s)
		status := raft.SnapshotFinish
		if err != nil {
			status = raft.SnapshotFailure
			p.node.raft.ReportUnreachable(p.id)
		}
		if s.end() {
			p.report(status)
		}
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(failPause):
			}
		}
	}
}

func (p *peer) post(ctx context.Context, s *stream) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, s)
	if err != nil {
		return err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return errors.New(resp.Status)
	}
	return nil
}

// stream is the body of a POST: what is in the queue, and what comes until the stream is closed.
// net/http's client sends at once what a Read returns.
type stream struct {
	queue <-chan message
	close func()
	over  <-chan struct{}

	mu       sync.Mutex
	rest     []byte
	snapshot bool
}

func newStream(ctx context.Context, queue <-chan message, first message) *stream {
	over, end := context.WithTimeout(ctx, streamFor)
	return &stream{queue: queue, over: over.Done(), close: end, rest: first.data, snapshot: first.snapshot}
}

// Read waits for a message, and returns all that are there, or io.EOF.
func (s *stream) Read(b []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n < len(b) {
		if len(s.rest) > 0 {
			k := copy(b[n:], s.rest)
			n, s.rest = n+k, s.rest[k:]
			continue
		}
		if n > 0 && len(s.queue) == 0 {
			break
		}
		select {
		case m := <-s.queue:
			s.rest, s.snapshot = m.data, s.snapshot || m.snapshot
		case <-s.over:
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		}
	}
	return n, nil
}

// Close has a Read that waits return.
func (s *stream) Close() error {
	s.close()
	return nil
}

func (s *stream) end() (snapshot bool) {
	s.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot
}

func (n *Node) receive(w http.ResponseWriter, r *http.Request) {
	body := bufio.NewReader(http.MaxBytesReader(w, r.Body, maxBody))
	for {
		m := &raftpb.Message{}
		err := protodelim.UnmarshalOptions{MaxSize: maxBody}.UnmarshalFrom(body, m)
		if errors.Is(err, io.EOF) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if err == nil {
			err = n.raft.Step(r.Context(), m)
		}
		if err != nil {
			w.Header().Set("Connection", "close")
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
}
