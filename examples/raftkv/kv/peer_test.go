package kv

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStream tests that a Read returns all that waits, or waits until the stream's time is over.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := make(chan message, 10)
		s := newStream(t.Context(), queue, message{data: []byte("one ")})
		for _, text := range []string{"two ", "three "} {
			queue <- message{data: []byte(text)}
		}
		b := make([]byte, 6)
		var got strings.Builder
		for got.Len() < len("one two three ") {
			n, err := s.Read(b)
			if err != nil || n == 0 {
				t.Fatal(n, err)
			}
			got.Write(b[:n])
		}
		if got.String() != "one two three " {
			t.Errorf("read %q", got.String())
		}
		go func() {
			time.Sleep(streamFor / 2)
			queue <- message{data: []byte("four"), snapshot: true}
		}()
		begin := time.Now()
		if n, err := s.Read(b); err != nil || string(b[:n]) != "four" || time.Since(begin) != streamFor/2 {
			t.Errorf("read %q, %v after %v", b[:n], err, time.Since(begin))
		}
		if _, err := s.Read(b); err != io.EOF || time.Since(begin) != streamFor {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if !s.end() {
			t.Error("the snapshot is forgotten")
		}
	})
}

// TestStreamGivenUp tests that a Read ends, and takes nothing more.
func TestStreamGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := make(chan message, 10)
		s := newStream(t.Context(), queue, message{data: []byte("one")})
		read := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, s)
			read <- err
		}()
		synctest.Wait()
		if s.end() {
			t.Error("there was no snapshot")
		}
		if err := <-read; err != nil {
			t.Error(err)
		}
		queue <- message{}
		synctest.Wait()
		if len(queue) != 1 {
			t.Error("a message was taken when all was over")
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
