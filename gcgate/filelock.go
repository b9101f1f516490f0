package gcgate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// FileTurns are the [Turns] of replicas on one host. An exclusive flock(2) on a file is the turn,
// so the kernel releases that of a killed process. They are a [Queue] (docs/reference/protocol.md),
// and need Linux, macOS or a BSD. Any goroutine may call their methods.
type FileTurns struct {
	// Path is the file, the same for all replicas, on a local file system. Its folder must exist,
	// and nothing may clean it up, such as /run/NAME (systemd: RuntimeDirectory=NAME and
	// RuntimeDirectoryPreserve=yes). No default.
	Path string

	// K is how many replicas may collect at once, the same for all. Further turns are the files
	// PATH.1, PATH.2 and so on. Default: 0, which is 1. Limit: 64.
	K int
}

const (
	maxFileTurns = 64
	maxHolder    = 255
)

// TurnCount implements [TurnCounter].
func (t FileTurns) TurnCount() int { return min(max(t.K, 1), maxFileTurns) }

// TryAcquire takes the lock without waiting. It returns [ErrHeld] if another replica has it or
// waits for it.
func (t FileTurns) TryAcquire(ctx context.Context) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("gcgate: FileTurns: %w", err)
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	if others, err := waiting(t.Path+queueSuffix, func(string, time.Time) bool { return true }); err != nil {
		return nil, fmt.Errorf("gcgate: FileTurns: %w", err)
	} else if others {
		return nil, ErrHeld
	}
	return t.lockAny()
}

func (t FileTurns) check() error {
	switch {
	case t.Path == "":
		return errors.New("gcgate: FileTurns.Path is empty: name a file that all replicas of this host share")
	case t.K < 0 || t.K > maxFileTurns:
		return fmt.Errorf("gcgate: FileTurns.K: %d is out of range: use 1 to %d, or 0 for 1", t.K, maxFileTurns)
	}
	return nil
}

// Validate implements [Validator]. It opens the files and joins the queue for a moment.
func (t FileTurns) Validate() error {
	if err := t.check(); err != nil {
		return err
	}
	for i := range t.TurnCount() {
		f, err := openLock(t.path(i))
		if err != nil {
			return err
		}
		f.Close()
	}
	w, err := t.enlist()
	if err != nil {
		return fmt.Errorf("gcgate: FileTurns: cannot wait in %s: %w", t.Path+queueSuffix, err)
	}
	w.leave()
	return nil
}

func (t FileTurns) lockAny() (l Lease, err error) {
	for i := range t.TurnCount() {
		if l, err = lockPath(t.path(i)); !errors.Is(err, ErrHeld) {
			return l, err
		}
	}
	return nil, err
}

func (t FileTurns) path(i int) string {
	if i == 0 {
		return t.Path
	}
	return fmt.Sprintf("%s.%d", t.Path, i)
}

func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		const fix = "make the folder %s, and run all replicas as a user who may write there"
		return nil, fmt.Errorf("gcgate: FileTurns: %w: "+fix, err, filepath.Dir(path))
	} else if err != nil {
		return nil, fmt.Errorf("gcgate: FileTurns: %w", err)
	}
	return f, nil
}

func lockPath(path string) (Lease, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, err
	}
	if err := f.Truncate(0); err == nil { // a full disk costs only the name
		_, _ = f.WriteAt([]byte(holderName()+"\n"), 0)
	}
	return &fileLease{f}, nil
}

func holderName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// Holders implements [HolderNamer]. The holders write their names into the files.
func (t FileTurns) Holders() string {
	var names []string
	for i := range t.TurnCount() {
		f, err := os.OpenFile(t.path(i), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, maxHolder))
		if lockFile(f) == nil {
			text = nil
			_ = unlockFile(f)
		}
		f.Close()
		if name, _, _ := strings.Cut(string(text), "\n"); err == nil && name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

type fileLease struct{ f *os.File }

// Lost implements [Lease]. It is nil, because no process can take the lock away.
func (l *fileLease) Lost() <-chan struct{} { return nil }

// Release implements [Lease]. A second one fails with os.ErrClosed.
func (l *fileLease) Release(context.Context) error {
	_ = l.f.Truncate(0)
	err := unlockFile(l.f) // because a child between fork and exec may have it
	return cmp.Or(l.f.Close(), err)
}
