package gcgate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The queue of [FileTurns] is the directory PATH.queue. Each waiting process has a ticket there, a
// file with an exclusive flock(2):
//
//	new-R      it is being made
//	N-R        N has 20 digits, one above the highest; R tells simultaneous ones apart
//
// Only the process of the lowest ticket tries the turn. Any process removes a ticket without a
// lock, and gives the ticket of a stopped process (SIGSTOP) the time passedOver. Such a ticket does
// not count until its process touches it.
const (
	queueSuffix  = ".queue"
	newTicket    = "new-"
	ticketDigits = 20

	newFor = time.Minute

	// The turn stays free for a 64th of the time waited so far.
	looksPerWait     = 64
	lookMin, lookMax = 2 * time.Millisecond, 250 * time.Millisecond
)

var stoppedAfter = 2 * time.Second

var passedOver = time.Unix(0, 0)

// Acquire implements [Queue], among all processes with the same Path.
func (t FileTurns) Acquire(ctx context.Context) (Lease, error) {
	if l, err := t.TryAcquire(ctx); !errors.Is(err, ErrHeld) {
		return l, err
	}
	w, err := t.enlist()
	if err != nil {
		return nil, fmt.Errorf("gcgate: FileTurns: cannot wait in %s: %w", t.Path+queueSuffix, err)
	}
	defer w.leave()
	pause := time.Duration(0)
	for began := time.Now(); ; pause = min(max(time.Since(began)/looksPerWait, lookMin), lookMax) {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("gcgate: FileTurns: %w", ctx.Err())
		case <-time.After(pause):
		}
		if next, err := w.isNext(); err != nil {
			return nil, fmt.Errorf("gcgate: FileTurns: cannot wait in %s: %w", t.Path+queueSuffix, err)
		} else if next {
			if l, err := t.lockAny(); !errors.Is(err, ErrHeld) {
				return l, err
			}
		}
	}
}

type ticket struct {
	dir, name string
	f         *os.File
	looked    time.Time
	ahead     map[string]sighting
}

type sighting struct {
	touched time.Time
	idle    time.Duration // while this process looked, which may have been stopped
}

func (t FileTurns) enlist() (*ticket, error) {
	dir := t.Path + queueSuffix
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, newTicket)
	if err != nil {
		return nil, err
	}
	w := &ticket{dir: dir, name: filepath.Base(f.Name()), f: f, looked: time.Now(), ahead: make(map[string]sighting)}
	if err := w.takeNumber(); err != nil {
		w.leave()
		return nil, err
	}
	return w, nil
}

// takeNumber locks the ticket, and then renames it behind all others.
func (w *ticket) takeNumber() error {
	if err := lockFile(w.f); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	var number uint64
	for _, e := range entries {
		if n, ok := ticketNumber(e.Name()); ok {
			number = max(number, n)
		}
	}
	name := fmt.Sprintf("%0*d-%s", ticketDigits, number+1, strings.TrimPrefix(w.name, newTicket))
	if err := os.Rename(filepath.Join(w.dir, w.name), filepath.Join(w.dir, name)); err != nil {
		return err
	}
	w.name = name
	return nil
}

func ticketNumber(name string) (n uint64, ok bool) {
	digits, _, ok := strings.Cut(name, "-")
	if !ok || len(digits) != ticketDigits {
		return 0, false
	}
	_, err := fmt.Sscanf(digits, "%d", &n)
	return n, err == nil
}

func (w *ticket) isNext() (bool, error) {
	now := time.Now()
	if err := os.Chtimes(filepath.Join(w.dir, w.name), now, now); err != nil {
		return false, err
	}
	passed := min(now.Sub(w.looked), lookMax)
	w.looked = now
	ahead, err := waiting(w.dir, func(other string, touched time.Time) bool {
		if other >= w.name {
			return false
		}
		seen := w.ahead[other]
		if !seen.touched.Equal(touched) {
			seen = sighting{touched: touched}
		}
		seen.idle += passed
		w.ahead[other] = seen
		if seen.idle < stoppedAfter {
			return true
		}
		// This spares the others the wait. A process that runs again touches its ticket soon.
		_ = os.Chtimes(filepath.Join(w.dir, other), passedOver, passedOver)
		return false
	})
	return !ahead, err
}

func (w *ticket) leave() {
	os.Remove(filepath.Join(w.dir, w.name)) // first, because its lock is free then
	_ = unlockFile(w.f)
	w.f.Close()
}

// waiting reports whether a ticket in dir counts. It removes those of processes that have exited.
func waiting(dir string, counts func(name string, touched time.Time) bool) (is bool, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, e := range entries {
		if _, isTicket := ticketNumber(e.Name()); isTicket {
			touched, waits := look(filepath.Join(dir, e.Name()))
			is = waits && !touched.Equal(passedOver) && counts(e.Name(), touched) || is
			continue
		}
		info, err := e.Info()
		if strings.HasPrefix(e.Name(), newTicket) && err == nil && time.Since(info.ModTime()) > newFor {
			look(filepath.Join(dir, e.Name()))
		}
	}
	return is, err
}

// look reports whether the process of a ticket waits, and removes the ticket if not.
func look(name string) (touched time.Time, waits bool) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return touched, false
	}
	defer f.Close()
	if err := lockFile(f); err == nil {
		os.Remove(name)
		_ = unlockFile(f)
		return touched, false
	}
	info, err := f.Stat()
	if err != nil {
		return touched, false
	}
	return info.ModTime(), true
}
