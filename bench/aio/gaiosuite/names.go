// Package gaiosuite defines the names that gaio's own tests use, over evenkeel.dev/aio/gaio. Its
// test runs gaio's tests from the module cache.
package gaiosuite

import (
	"os"
	"strconv"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
)

// The environment of a run.
const (
	backendEnv = "GAIOSUITE_BACKEND"
	swapEnv    = "GAIOSUITE_SWAP"
)

type (
	Watcher  = gaio.Watcher
	OpResult = gaio.OpResult
	OpType   = gaio.OpType
)

const (
	OpRead  = gaio.OpRead
	OpWrite = gaio.OpWrite
)

var (
	ErrUnsupported   = gaio.ErrUnsupported
	ErrNoRawConn     = gaio.ErrNoRawConn
	ErrWatcherClosed = gaio.ErrWatcherClosed
	ErrPollerClosed  = gaio.ErrPollerClosed
	ErrConnClosed    = gaio.ErrConnClosed
	ErrDeadline      = gaio.ErrDeadline
	ErrEmptyBuffer   = gaio.ErrEmptyBuffer
	ErrCPUID         = gaio.ErrCPUID
)

// NewWatcher is gaio's, with the run's backend and swap buffer.
func NewWatcher() (*Watcher, error) {
	size, err := strconv.Atoi(os.Getenv(swapEnv))
	if err != nil {
		return nil, err
	}
	return NewWatcherSize(size)
}

// NewWatcherSize is gaio's, with the run's backend.
func NewWatcherSize(bufsize int) (*Watcher, error) {
	var o aio.Options
	if err := o.Backend.UnmarshalText([]byte(os.Getenv(backendEnv))); err != nil {
		return nil, err
	}
	o.SwapSize = bufsize
	w, err := aio.New(o)
	if err != nil {
		return nil, err
	}
	return gaio.Over(w), nil
}
