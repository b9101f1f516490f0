package kv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
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
	maxChunk    = 32 << 10 // bytes of a write, or one message
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
		select {
		case <-ctx.Done():
			return
		case m := <-p.queue:
			p.carry(ctx, m)
		}
	}
}

// carry sends first, and what comes for streamFor, by one POST. net/http's client sends at once
// what it reads.
func (p *peer) carry(ctx context.Context, first message) {
	body, out := io.Pipe()
	ended := make(chan struct{})
	var failed error // valid once ended is closed
	go func() {
		defer close(ended)
		failed = p.post(ctx, body)
		body.Close() // so that a Write fails
	}()
	over := time.After(streamFor)
	snapshot := false
	for m, more := first, true; more; {
		data := m.data
		snapshot = snapshot || m.snapshot
		for len(p.queue) > 0 && len(data) < maxChunk {
			m = <-p.queue
			data = append(data, m.data...)
			snapshot = snapshot || m.snapshot
		}
		if _, err := out.Write(data); err != nil {
			break
		}
		select {
		case m = <-p.queue:
		case <-over:
			more = false
		case <-ended:
			more = false
		}
	}
	out.Close()
	<-ended
	status := raft.SnapshotFinish
	if failed != nil {
		status = raft.SnapshotFailure
		p.node.raft.ReportUnreachable(p.id)
	}
	if snapshot {
		p.report(status)
	}
	if failed != nil {
		select {
		case <-ctx.Done():
		case <-time.After(failPause):
		}
	}
}

func (p *peer) post(ctx context.Context, body io.Reader) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, body)
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
