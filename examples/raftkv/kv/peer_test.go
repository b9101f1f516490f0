package kv

import (
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/raft/v3"
)

// reports are what the library hears of one peer.
type reports struct {
	raft.Node
	snapshots   []raft.SnapshotStatus
	unreachable int
}

func (r *reports) ReportSnapshot(_ uint64, s raft.SnapshotStatus) {
	r.snapshots = append(r.snapshots, s)
}
func (r *reports) ReportUnreachable(uint64) { r.unreachable++ }

type member func(body io.Reader) (status int)

func (m member) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	return &http.Response{StatusCode: m(r.Body), Body: http.NoBody}, nil
}

func peerOf(m member) (*peer, *reports) {
	r := new(reports)
	p := newPeer(&Node{raft: r}, 2, "http://peer")
	p.client.Transport = m
	return p, r
}

// TestCarry tests that one POST carries all that waits at once, and then what comes until its time
// is over.
func TestCarry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		p, r := peerOf(func(body io.Reader) int {
			b := make([]byte, 100)
			if n, err := body.Read(b); string(b[:n]) != "one two three " || err != nil {
				t.Errorf("read %q, %v", b[:n], err)
			}
			if n, err := body.Read(b); string(b[:n]) != "four" || err != nil || time.Since(begin) != streamFor/2 {
				t.Errorf("read %q, %v after %v", b[:n], err, time.Since(begin))
			}
			if _, err := body.Read(b); err != io.EOF || time.Since(begin) != streamFor {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
			return http.StatusNoContent
		})
		p.queue <- message{data: []byte("two ")}
		p.queue <- message{data: []byte("three ")}
		go func() {
			time.Sleep(streamFor / 2)
			p.queue <- message{data: []byte("four"), snapshot: true}
		}()
		p.carry(t.Context(), message{data: []byte("one ")})
		p.node.running.Wait()
		if !slices.Equal(r.snapshots, []raft.SnapshotStatus{raft.SnapshotFinish}) || r.unreachable != 0 {
			t.Errorf("reported %v, and unreachable %d times", r.snapshots, r.unreachable)
		}
	})
}

// TestCarryGivenUp tests that a POST that fails ends at once, and takes nothing more.
func TestCarryGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, member := range map[string]member{
			"after a message": func(body io.Reader) int {
				_, _ = body.Read(make([]byte, 100))
				return http.StatusServiceUnavailable
			},
			"before it": func(io.Reader) int { return http.StatusServiceUnavailable },
		} {
			p, r := peerOf(member)
			begin := time.Now()
			p.carry(t.Context(), message{data: []byte("one"), snapshot: true})
			if took := time.Since(begin); took != failPause {
				t.Errorf("%s: took %v", what, took)
			}
			p.queue <- message{}
			p.node.running.Wait()
			if len(p.queue) != 1 {
				t.Errorf("%s: a message was taken when all was over", what)
			}
			if !slices.Equal(r.snapshots, []raft.SnapshotStatus{raft.SnapshotFailure}) || r.unreachable != 1 {
				t.Errorf("%s: reported %v, and unreachable %d times", what, r.snapshots, r.unreachable)
			}
		}
	})
}

// TestSentAgainBeforeTheFirstHasEnded tests that an attempt that was given up does not take the
// news from the second.
func TestSentAgainBeforeTheFirstHasEnded(t *testing.T) {
	s, r := newStore(), request{"a", 1}
	first, second := s.await(r), s.await(r)
	s.forget(r)
	if err := s.apply([]byte(`{"c":"a","s":1,"k":"x","v":"y"}`)); err != nil {
		t.Fatal(err)
	}
	for _, done := range []<-chan struct{}{first, second} {
		select {
		case <-done:
		default:
			t.Error("it is not told that the write was made")
		}
	}
	s.forget(r)
	if len(s.waiting) > 0 {
		t.Errorf("%v is left", s.waiting)
	}
}
