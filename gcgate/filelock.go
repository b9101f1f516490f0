package gcgate

import (
	"context"
	"fmt"
	"os"
)

// FileTurns are the [Turns] of replicas that share a host: who holds an exclusive flock(2) on
// the file has the turn. It needs no server, and the kernel gives the turn of a process that
// died to the next.
//
// It needs flock: Linux, macOS and the BSDs; elsewhere TryAcquire fails with an error that is
// errors.ErrUnsupported. Its methods may be called from any goroutine.
type FileTurns struct {
	// Path is the file, the same for all replicas, on a local file system (a lock over NFS can
	// be lost unnoticed). It is made when missing, readable by this user alone, and never
	// removed: put it where nobody else can write and nothing cleans up, such as
	// /run/NAME/gcgate.lock, not /tmp. No default.
	Path string
}

// TryAcquire takes the lock without waiting. It returns [ErrHeld] when another has it, in this
// process or another one. It does not block, so ctx only counts when it is over already.
func (t FileTurns) TryAcquire(ctx context.Context) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("gcgate: FileTurns: %w", err)
	}
	if t.Path == "" {
		return nil, fmt.Errorf("gcgate: FileTurns.Path is empty: name a file that all replicas of this host share")
	}
	f, err := os.OpenFile(t.Path, os.O_RDWR|os.O_CREATE, 0o600) // with O_CLOEXEC, as all of os
	if err != nil {
		return nil, fmt.Errorf("gcgate: FileTurns: %w", err)
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, err
	}
	return &fileLease{f}, nil
}

// fileLease holds the lock: the kernel keeps it as long as f is open.
type fileLease struct{ f *os.File }

// Lost implements [Lease]. It never fires: nobody can take a lock from its holder. Who removes
// the file lets two replicas collect at once, which costs latency and breaks nothing.
func (l *fileLease) Lost() <-chan struct{} { return nil }

// Release implements [Lease]. A second one fails with os.ErrClosed.
func (l *fileLease) Release(context.Context) error {
	err := unlockFile(l.f) // Close alone would leave it to a child between fork and exec
	if err := l.f.Close(); err != nil {
		return err
	}
	return err
}
