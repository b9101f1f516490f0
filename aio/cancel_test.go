package aio_test

import (
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// TestCancelOfATag: all of a connection that have the tag, of both directions, and of no other connection.
func TestCancelOfATag(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		conn, _ := attached(t, w)
		other, _ := attached(t, w)
		type session struct{ id int }
		tag := session{7}
		for _, c := range []*aio.Conn{conn, other} {
			must(t, c.Read(tag, nil, none))
			must(t, c.Read(session{8}, nil, none))
			must(t, c.Read(tag, nil, time.Now().Add(time.Hour)))
		}
		must(t, conn.CloseWrite(tag, none)) // not begun: it would be over by then
		if n := conn.Cancel(session{7}); n != 3 {
			t.Errorf("%d operations found, want 3", n)
		}
		for _, r := range wait(t, w, 3) {
			if r.Conn != conn || r.Tag != tag || r.Error != aio.ErrCancelled {
				t.Errorf("%+v", r)
			}
		}
		if n := other.SetDeadline(tag, time.Now()); n != 2 {
			t.Errorf("%d operations found, want 2", n)
		}
		for _, r := range wait(t, w, 2) {
			if r.Conn != other || r.Tag != tag || r.Error != aio.ErrDeadline {
				t.Errorf("%+v", r)
			}
		}
		if s := w.Stats(); s.Pending != 2 || s.Cancelled != 5 {
			t.Errorf("%+v; want two operations pending, and five that were cancelled", s)
		}
	})
}

// TestCancelAllocatesNothing holds it and SetDeadline to that.
func TestCancelAllocatesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		conn, _ := attached(t, w)
		tag := new(int)
		hour := time.Now().Add(time.Hour)
		if n := testing.AllocsPerRun(100, func() {
			if conn.Read(tag, nil, none) != nil || conn.SetDeadline(tag, hour) != 1 || conn.Cancel(tag) != 1 {
				t.Error("not found")
			}
			if results, err := w.WaitIO(); err != nil || len(results) != 1 || results[0].Error != aio.ErrCancelled {
				t.Errorf("%v, %v", results, err)
			}
		}); n != 0 {
			t.Errorf("%v allocations, want 0", n)
		}
	})
}
