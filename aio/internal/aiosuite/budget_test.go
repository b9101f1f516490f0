package aiosuite

import (
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/internal/testutil"
)

// The budgets of package aio.
const (
	turnTransfers, turnBytes = 256, 1 << 20
	connTransfers            = 4
	freshTransfers           = 1
	maxTransfer              = 64 << 10
	expireTurn               = 256
)

// counted counts what a turn has a Backend do.
type counted struct {
	*Backend
	starts, bytes   int // since the last Poll
	row             int // of one connection, one after the other
	last            *proactor.Desc
	mostStarts      int
	mostBytes       int
	mostRow         int
	mostTransferred int
	polls           int
	begun, quickAt  int // ever, and before what is tagged quick
}

func (b *counted) Start(op *proactor.Op) bool {
	before := op.Size
	over := b.Backend.Start(op)
	if b.last != op.Desc {
		b.last, b.row = op.Desc, 0
	}
	moved := op.Size - before
	if op.Tag == quick {
		b.quickAt = b.begun
	}
	b.begun++
	b.starts++
	b.row++
	b.bytes += moved
	b.mostStarts, b.mostBytes, b.mostRow = max(b.mostStarts, b.starts), max(b.mostBytes, b.bytes), max(b.mostRow, b.row)
	b.mostTransferred = max(b.mostTransferred, moved)
	return over
}

func (b *counted) Poll(done []*proactor.Op) ([]*proactor.Op, error) {
	b.starts, b.bytes = 0, 0
	b.polls++
	return b.Backend.Poll(done)
}

// watch returns a Watcher over a backend that counts. It takes what its connections send.
func watch(t *testing.T, mode Mode) (*aio.Watcher, *counted) {
	b := &counted{Backend: NewBackend(Options{Mode: mode})}
	w, err := NewWatcher(aio.Options{}, b)
	Must(t, err)
	t.Cleanup(func() {
		_ = w.Close()
		for {
			if _, err := w.WaitIO(); err == aio.ErrWatcherClosed {
				return
			}
		}
	})
	return w, b
}

// TestTurnIsBounded: between two questions to the kernel there are as many transfers as two turns
// begin, and no connection has more than its share of them while others wait.
func TestTurnIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name               string
		conns, each, size  int
		wantRow, wantBytes int
	}{
		{"small", 100, 200, 10, freshTransfers + connTransfers, turnBytes},
		{"large", 30, 10, 50 << 10, freshTransfers + connTransfers, turnBytes + 2*maxTransfer},
		{"one long", 4, 1, 4 << 20, freshTransfers + 1, turnBytes + 2*maxTransfer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b := watch(t, Readiness)
				all := 0
				for range tt.conns {
					own, peer := Pair(tt.each * tt.size)
					conn, err := w.Attach(own)
					Must(t, err)
					for range tt.each {
						Must(t, conn.Write(nil, make([]byte, tt.size), aio.NoDeadline))
						all++
					}
					t.Cleanup(func() { _ = peer.Close() })
				}
				most := 0
				for n := 0; n < all; {
					results, err := w.WaitIO()
					Must(t, err)
					n += len(results)
					most = max(most, len(results))
				}
				t.Logf("%d transfers and %d bytes between two Polls, %d of a connection in a row, %d bytes in one, "+
					"%d results in one WaitIO, %d Polls of %d writes",
					b.mostStarts, b.mostBytes, b.mostRow, b.mostTransferred, most, b.polls, all)
				// Two turns, of which the first does not ask.
				if want := 2 * (turnTransfers + connTransfers - 1); b.mostStarts > want { // the last share may pass it
					t.Errorf("%d transfers between two Polls, want %d at most", b.mostStarts, want)
				}
				if want := 2 * tt.wantBytes; b.mostBytes > want {
					t.Errorf("%d bytes between two Polls, want %d at most", b.mostBytes, want)
				}
				if b.mostRow > tt.wantRow {
					t.Errorf("%d transfers of one connection in a row, want %d at most", b.mostRow, tt.wantRow)
				}
				if b.mostTransferred > maxTransfer {
					t.Errorf("%d bytes in one transfer, want %d at most", b.mostTransferred, maxTransfer)
				}
			})
		})
	}
}

// TestBurstBesideBusyConnections: connections that wait to be accepted do so in the share of a
// Listener, which is theirs together, and not four at a time with a round of all busy connections
// in between. (With completions one accept is with the kernel at a time.)
func TestBurstBesideBusyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const busy, each, burst = 100, 100, 64
		w, _ := watch(t, Readiness)
		for range busy {
			own, peer := Pair(each)
			conn, err := w.Attach(own)
			Must(t, err)
			for range each {
				Must(t, conn.Write(nil, []byte("x"), aio.NoDeadline))
			}
			t.Cleanup(func() { _ = peer.Close() })
		}
		ln := NewListener(1)
		l, err := w.AttachListener(ln)
		Must(t, err)
		for range burst {
			Must(t, l.Accept(nil, aio.NoDeadline))
			peer, err := ln.Dial()
			Must(t, err)
			t.Cleanup(func() { _ = peer.Close() })
		}
		accepted, written := 0, 0
		for accepted < burst {
			results, err := w.WaitIO()
			Must(t, err)
			for _, r := range results {
				if Must(t, r.Error); r.Op == aio.OpAccept {
					accepted++
				} else {
					written++
				}
			}
		}
		t.Logf("%d writes of %d until %d were accepted", written, busy*each, burst)
		if most := 8 * turnTransfers; written > most {
			t.Errorf("%d writes until %d were accepted, want %d at most", written, burst, most)
		}
	})
}

// TestManyDeadlinesAtOnce: 100,000 operations that are late at once, in queues of 1,000, come back
// a turn's budget at a time, and in as few turns as that takes; a small write meanwhile is served
// by the next two.
func TestManyDeadlinesAtOnce(t *testing.T) {
	for _, mode := range []Mode{Completion, Readiness} {
		for name, at := range map[string]func(i int) int{
			"in order": func(i int) int { return i },
			"reverse":  func(i int) int { return -i },
			"random":   func(i int) int { return i * 7919 % 1000 },
		} {
			t.Run(mode.String()+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { manyDeadlinesAtOnce(t, mode, at) })
			})
		}
	}
}

func manyDeadlinesAtOnce(t *testing.T, mode Mode, at func(i int) int) {
	conns, each := 100, 100
	if testutil.Checking() {
		each = 1000
	}
	w, b := watch(t, mode)
	start := time.Now().Add(time.Hour)
	attach := func() *aio.Conn {
		own, peer := Pair(each)
		t.Cleanup(func() { _ = peer.Close() })
		conn, err := w.Attach(own)
		Must(t, err)
		return conn
	}
	quick := attach()
	for range conns {
		conn := attach()
		for i := range each {
			Must(t, conn.Read(nil, make([]byte, 1), start.Add(time.Duration(at(i))*time.Millisecond)))
		}
	}
	time.Sleep(2 * time.Hour)
	small, asked := 0, false
	for left, before := conns*each, b.polls; left > 0 || asked; {
		results, err := w.WaitIO()
		Must(t, err)
		for _, r := range results {
			if r.Op != aio.OpWrite {
				left--
				continue
			}
			small, asked = small+1, false
			if b.polls-before > 2 {
				t.Errorf("a small write took %d turns beside %d that were late, want 2 at most", b.polls-before, left)
			}
		}
		if len(results) > 2*expireTurn {
			t.Errorf("%d results of one WaitIO, want %d at most", len(results), 2*expireTurn)
		}
		if !asked && small <= (conns*each-left)/10_000 && left > 0 {
			before, asked = b.polls, true
			Must(t, quick.Write(nil, []byte("x"), aio.NoDeadline))
		}
	}
	t.Logf("%d late operations in %d turns, %d small writes", conns*each, b.polls, small)
	if most := 4 * conns * each / expireTurn; b.polls > most {
		t.Errorf("%d turns for %d late operations, want %d at most", b.polls, conns*each, most)
	}
}

// quick is the tag of small writes beside others.
const quick = "quick"

// TestSmallBesideQueued: what comes anew waits for its turn among those that come anew, for one
// transfer of each, and for as many of those that have had theirs and have more to do; and not
// longer when it comes with all of them at once.
func TestSmallBesideQueued(t *testing.T) {
	for _, mode := range []Mode{Completion, Readiness} {
		t.Run(mode.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const conns, each = 100, 100
				w, b := watch(t, mode)
				attach := func() *aio.Conn {
					own, peer := Pair(each)
					t.Cleanup(func() { _ = peer.Close() })
					conn, err := w.Attach(own)
					Must(t, err)
					return conn
				}
				small := attach()
				for range conns {
					conn := attach()
					for range each {
						Must(t, conn.Write(nil, []byte("x"), aio.NoDeadline))
					}
				}
				wait := 0 // WaitIOs until the next small write
				begun, polls, quickly := 0, 0, 0
				for left := conns * each; left > each; { // the line of the others is long
					if wait == 0 {
						begun, polls = b.begun, b.polls
						Must(t, small.Write(quick, []byte("x"), aio.NoDeadline))
						left++
					}
					results, err := w.WaitIO()
					Must(t, err)
					left -= len(results)
					wait--
					for _, r := range results {
						if r.Tag != quick {
							continue
						}
						wait = 4
						quickly++
						others, turns := b.quickAt-begun, b.polls-polls
						if most := 2*conns + 2*connTransfers; others > most {
							t.Errorf("%d transfers of others came before small write %d, want %d at most", others,
								quickly, most)
						}
						if turns > 2 {
							t.Errorf("a small write took %d turns beside %d queued ones, want 2 at most", turns, left)
						}
					}
				}
				if quickly < 5 {
					t.Errorf("%d small writes, want 5 at least", quickly)
				}
			})
		})
	}
}
