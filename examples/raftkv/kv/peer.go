package kv

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/encoding/protodelim"
)

const (
	queueLength = 4096            // messages for one member; more are dropped, which the library mends
	streamFor   = time.Second     // a POST carries what comes meanwhile; a server that shuts down waits as long
	maxBody     = 64 << 20        // bytes of one POST: a snapshot
	postTimeout = 5 * time.Second // of one POST, to a member that is stopped
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
		if out.snapshot {
			p.report(raft.SnapshotFailure)
		}
	}
	return nil
}

// report tells the library what became of a snapshot.
func (p *peer) report(status raft.SnapshotStatus) {
	p.node.running.Go(func() { p.node.raft.ReportSnapshot(p.id, status) }) // the caller may be its loop
}

// run posts all that waits, again and again.
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
// net/http's client sends at once what a Read returns (transfer.go, FlushAfterChunkWriter).
type stream struct {
	queue <-chan message
	close func() // once and again
	over  <-chan struct{}

	mu       sync.Mutex // held by Read
	rest     []byte     // of what was taken from the queue; guarded by mu
	snapshot bool       // one was taken; guarded by mu
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

// Close has a Read that waits return. The transport calls it, too, where the answer came before the
// end.
func (s *stream) Close() error {
	s.close()
	return nil
}

// end closes the stream, and reports whether a snapshot was taken from the queue.
func (s *stream) end() (snapshot bool) {
	s.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot
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
			w.Header().Set("Connection", "close") // the rest is not waited for
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
}

// What a write carries beside its key and value, and what an answer says.
const (
	headerClient = "Kv-Client" // who writes
	headerSeq    = "Kv-Seq"    // its number, from 1
	headerLeader = "Kv-Leader" // whom to ask, in an answer 421
)

// maxValue is the longest value, in bytes.
const maxValue = 64 << 10

// Handler serves the store: PUT /kv/KEY with the value as its body, GET /kv/KEY for the value as
// this member knows it. A write to a member that does not lead is answered 421 with the leader's
// URL.
func (n *Node) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /kv/{key}", n.put)
	mux.HandleFunc("GET /kv/{key}", n.get)
	return mux
}

func (n *Node) put(w http.ResponseWriter, r *http.Request) {
	value, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxValue))
	seq, serr := strconv.ParseUint(r.Header.Get(headerSeq), 10, 64)
	client := r.Header.Get(headerClient)
	if err = errors.Join(err, serr); err != nil || client == "" {
		http.Error(w, fmt.Sprintf("a write needs %s, %s and a value up to %d bytes: %v", headerClient, headerSeq,
			maxValue, err), http.StatusBadRequest)
		return
	}
	data, err := json.Marshal(command{Client: client, Seq: seq, Key: r.PathValue("key"), Value: string(value)})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), writeTimeout)
	defer cancel()
	err = n.write(ctx, data, request{client, seq})
	var other elsewhere
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.As(err, &other):
		w.Header().Set(headerLeader, n.config.Members[other.leader-1])
		http.Error(w, err.Error(), http.StatusMisdirectedRequest)
	default:
		http.Error(w, "not known to be written: "+err.Error(), http.StatusServiceUnavailable)
	}
}

func (n *Node) get(w http.ResponseWriter, r *http.Request) {
	value, ok := n.store.get(r.PathValue("key"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = io.WriteString(w, value)
}
