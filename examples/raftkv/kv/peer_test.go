package kv

import (
	"context"
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
// news from the second, and that an earlier write ends neither.
func TestSentAgainBeforeTheFirstHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		ended := make(chan error, 2)
		first, giveUp := context.WithCancel(t.Context())
		for _, ctx := range []context.Context{first, t.Context()} {
			go func() { ended <- s.await(ctx, "a", 2) }()
		}
		synctest.Wait()
		giveUp()
		if err := <-ended; err != context.Canceled {
			t.Errorf("the first ends with %v", err)
		}
		for _, write := range []string{`{"c":"a","s":1,"k":"x","v":"y"}`, `{"c":"a","s":2,"k":"x","v":"z"}`} {
			synctest.Wait()
			if len(ended) > 0 {
				t.Error("it ended before the write was applied")
			}
			if err := s.apply([]byte(write)); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; err != nil {
			t.Errorf("the second ends with %v", err)
		}
		if len(s.waiting) > 0 {
			t.Errorf("%v is left", s.waiting)
		}
	})
}
