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
	queueLength = 4096            // messages for one member; more are dropped, which the library mends
	maxBody     = 64 << 20        // bytes of one POST: a snapshot
	postTimeout = 5 * time.Second // what a member that is stopped may take
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

// message is one of the library's, as it is sent.
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

// send marshals at once: the library may change what m refers to when its loop goes on.
func (p *peer) send(m *raftpb.Message) error {
	var data bytes.Buffer
	if _, err := protodelim.MarshalTo(&data, m); err != nil {
		return err
	}
	out := message{data.Bytes(), m.GetType() == raftpb.MsgSnap}
	select {
	case p.queue <- out:
	default:
		p.report(out, raft.SnapshotFailure)
	}
	return nil
}

// report tells the library what became of a snapshot.
func (p *peer) report(m message, status raft.SnapshotStatus) {
	if m.snapshot {
		p.node.running.Go(func() { p.node.raft.ReportSnapshot(p.id, status) }) // the caller may be its loop
	}
}

// run posts all that waits, again and again.
func (p *peer) run(ctx context.Context) {
	for {
		var batch []message
		select {
		case <-ctx.Done():
			return
		case m := <-p.queue:
			batch = append(batch, m)
		}
		for len(p.queue) > 0 && len(batch) < queueLength {
			batch = append(batch, <-p.queue)
		}
		status := raft.SnapshotFinish
		err := p.post(ctx, batch)
		if err != nil {
			status = raft.SnapshotFailure
			p.node.raft.ReportUnreachable(p.id)
		}
		for _, m := range batch {
			p.report(m, status)
		}
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(failPause):
			}
		}
	}
}

func (p *peer) post(ctx context.Context, batch []message) error {
	var body []byte
	for _, m := range batch {
		body = append(body, m.data...)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
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

// receive steps through the messages of a POST.
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
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
}
