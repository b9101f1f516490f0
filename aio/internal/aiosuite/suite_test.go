package aiosuite

import (
	"net"
	"runtime"
	"testing"
	"testing/synctest"

	"evenkeel.dev/aio"
)

// test is one of the suite.
type test struct {
	name string
	run  func(*rig)
}

// tests are what each backend passes, in the order of the files that they are in.
var tests = []test{
	{"Attach", attached},
	{"AttachRefused", attachRefused},
	{"RefusedAtOnce", refusedAtOnce},

	{"FIFO", fifo},
	{"MaxQueued", maxQueued},

	{"PastDeadline", pastDeadline},
	{"PastDeadlineOfMany", pastDeadlineOfMany},
	{"DeadlineInTheMiddle", deadlineInTheMiddle},
	{"ManyDeadlines", manyDeadlines},
	{"FullUntilDeadline", fullUntilDeadline},
	{"FullUntilEnd", fullUntilEnd},

	{"SwapBuffer", swapBuffer},
	{"SwapBufferFull", swapBufferFull},
	{"SwapBufferFair", swapBufferFair},
	{"SwapBufferInTurn", swapBufferInTurn},
	{"SwapBufferLate", swapBufferLate},
	{"SwapBufferWhole", swapBufferWhole},
	{"SwapBufferReadByClose", swapBufferReadByClose},
	{"SwapBufferLimited", swapBufferLimited},

	{"PeerEnds", peerEnds},
	{"HalfClosed", halfClosed},
	{"Reset", peerResets},
	{"ResetWhileWaiting", resetWhileWaiting},
	{"ResetAfterData", resetAfterData},

	{"ConnClosePending", connClosePending},
	{"ConnCloseBehindMany", connCloseBehindMany},
	{"ConnCloseAtOnceWhenFull", connCloseAtOnceWhenFull},
	{"ConnCloseTwice", connCloseTwice},
	{"ClosePending", closePending},
	{"CloseWhileWaiting", endWhileWaiting((*aio.Watcher).Close, 1)},
	{"CloseIdleWhileWaiting", endWhileWaiting((*aio.Watcher).Close, 0)},
	{"Shutdown", shutdown},
	{"ShutdownInTime", shutdownInTime},
	{"ShutdownIdle", shutdownIdle},
	{"ShutdownWhileWaiting", endWhileWaiting(shutDown, 1)},

	{"Writev", writev},
	{"WritevOfMany", writevOfMany},
	{"WritevInParts", writevInParts},
	{"WritevRefused", writevRefused},
	{"WriteCutShort", writeCutShort},
	{"WriteToClosedPeer", writeToClosedPeer},

	{"TryWritev", tryWritev},
	{"TryWriteBehind", tryWriteBehind},
	{"TryWriteBeside", tryWriteBeside},
	{"TryWriteInParts", tryWriteInParts},
	{"TryWriteToAccepted", tryWriteToAccepted},
	{"TryWriteRefused", tryWriteRefused},

	{"MaxQueuedBytes", maxQueuedBytes},
	{"MaxWatcherBytes", maxWatcherBytes},
	{"MaxConns", maxConnections},
	{"AcceptAtMaxConns", atMaxConns(false, closeConn)},
	{"AcceptAtMaxConnsDetach", atMaxConns(false, detachConn)},
	{"AcceptMultishotAtMaxConns", atMaxConns(true, closeConn)},
	{"Late", late},

	{"ReadBesideBlockedWrite", readBesideBlockedWrite},
	{"CloseWriteBehindWrites", closeWriteBehindWrites},
	{"CloseWriteCutShort", closeWriteCutShort},
	{"CloseAfterWrites", closeAfterWrites},
	{"CloseAfterWritesCutShort", closeAfterWritesCutShort},
	{"CloseAfterWritesThatFail", closeAfterWritesThatFail},
	{"CloseAfterWritesWhenFull", closeAfterWritesWhenFull},
	{"CloseAfterWritesThenClose", closeAfterWritesThenClose},
	{"CloseAfterWritesThenWatcherClose", closeAfterWritesThenWatcherClose},
	{"CloseAfterWritesThenShutdown", closeAfterWritesThenShutdown},

	{"Cancel", cancel},
	{"CancelReads", cancelReads},
	{"CancelBeforeItBegins", cancelBeforeItBegins},
	{"CancelWhatIsOver", cancelWhatIsOver},
	{"CancelWrite", cancelWrite},
	{"CancelRace", cancelRace},
	{"SetDeadline", setDeadline},

	{"Move", move},
	{"MoveRefused", moveRefused},
	{"Spread", spread},

	{"Wakes", wakes},
	{"ConcurrentWaitIO", concurrentWaitIO},
	{"Posts", posts},

	{"BesideQueued", besideQueued},
	{"PingBesideBulk", pingBesideBulk},

	{"Accept", accepts},
	{"AcceptBurst", acceptBurst},
	{"AcceptDeadline", acceptDeadline},
	{"AcceptCancelled", acceptCancelled},
	{"ListenerClosed", listenerClosed},
	{"ListenerOfAClosedWatcher", listenerOfAClosedWatcher},
	{"AcceptShutdown", acceptShutdown},
	{"AcceptRefused", acceptRefused},
	{"AcceptMultishot", acceptMultishot},
	{"AcceptMultishotEnds", acceptMultishotEnds},

	{"Dial", dials},
	{"DialAndAcceptInOneLoop", dialsItself},
	{"DialRefused", dialRefused},
	{"DialToNobody", dialToNobody},
	{"DialOfAClosedWatcher", dialOfAClosedWatcher},

	{"Detach", detach},
	{"DetachPending", detachPending},
	{"DetachClosed", detachClosed},
	{"DetachRace", detachRace},
	{"SyscallConn", syscallConn},

	{"StormThenClose", stormThenClose},
	{"StormThenShutdown", stormThenShutdown},
}

// runSuite runs the conformance suite.
func runSuite(t *testing.T, sys System) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sys.run(t, func(t *testing.T) { tt.run(newRig(t, sys, aio.Options{})) })
		})
	}
	t.Run("SubmissionBeforeWaiting", func(t *testing.T) { // a bubble would wait for goroutines that spin
		submissionBeforeWaiting(newRig(t, sys, aio.Options{}))
	})
}

func (sys *System) run(t *testing.T, test func(*testing.T)) {
	if sys.Bubble {
		synctest.Test(t, test)
	} else {
		test(t)
	}
}

// reset ends a connection. The other end finds ECONNRESET if it has sent something that peer did
// not read. It returns false if peer cannot be reset.
func reset(peer net.Conn) bool {
	switch c := peer.(type) {
	case interface{ Reset() error }:
		_ = c.Reset()
	case *net.TCPConn:
		_ = c.SetLinger(0)
		_ = c.Close()
	case *net.UnixConn:
		if runtime.GOOS != "linux" {
			return false
		}
		_ = c.Close() // resets with unread data
	default:
		return false
	}
	return true
}
