// Package gaiosuite has what the tests of github.com/xtaci/gaio name of their own package, over
// evenkeel.dev/aio/gaio. Its test runs those tests here, from where go mod has them: none of them is copied.
package gaiosuite

import (
	"os"
	"strconv"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
)

// What a run is told by the environment: the backend, and the size of NewWatcher's swap buffer in bytes.
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

// NewWatcher is gaio's, of the backend and with the swap buffer that the run has.
func NewWatcher() (*Watcher, error) {
	size, err := strconv.Atoi(os.Getenv(swapEnv))
	if err != nil {
		return nil, err
	}
	return NewWatcherSize(size)
}

// NewWatcherSize is gaio's, of the backend that the run has.
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
