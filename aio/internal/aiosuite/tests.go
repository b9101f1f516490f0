package aiosuite

import "evenkeel.dev/aio"

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
