package observe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/gclog"
)

// logHistory is how much of a log is read that was there before: the last collections tell the heap
// before the first of the window, and which process's they are.
const logHistory = 1 << 20

// follow reads a log of gctrace lines while it grows; "-" is standard input. It returns when what
// was there has been read, or ctx ends. stop reads to where the log ends by then. A pipe has no end
// while somebody may write to it: nobody waits for that.
//
// Lines are placed by when they arrive, as those of a server's standard error are: the earliest
// (arrival - end) is the start of the runtime, and what was there before arrived later than that.
func (t *trace) follow(ctx context.Context, name string) (stop func(), err error) {
	t.log = name
	if name == cli.ToStdout {
		t.log = cli.StdinName
		go t.scan(os.Stdin) // a read of it cannot be interrupted
		time.Sleep(logRest) // for what is there already
		return func() {}, nil
	}
	f, err := openLog(ctx, name)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && fi.IsDir() {
		err = fmt.Errorf("%s is a folder; name the file that the service's standard error is written to", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	ends := fi.Mode().IsRegular()
	reading, cancel := context.WithCancel(context.Background())
	caughtUp := make(chan struct{})
	in := io.Reader(&gclog.Tail{Context: reading, File: f, Poll: logPoll, AtEnd: sync.OnceFunc(func() {
		close(caughtUp)
	})})
	if ends && fi.Size() > logHistory {
		_, _ = f.Seek(-logHistory, io.SeekEnd)
		br := bufio.NewReader(in)
		_, _ = br.ReadSlice('\n') // the rest of a line
		in = br
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.scan(in)
	}()
	var rest <-chan time.Time
	if !ends {
		rest = time.After(logRest) // for what is there already
	}
	select {
	case <-caughtUp:
	case <-done:
	case <-rest:
	case <-ctx.Done():
	}
	return func() {
		cancel()
		if ends {
			<-done
		}
		f.Close()
	}, nil
}

// openLog opens a log; of a pipe it waits for who writes it, until ctx ends.
func openLog(ctx context.Context, name string) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	c := make(chan opened, 1)
	go func() {
		f, err := os.Open(name)
		c <- opened{f, err}
	}()
	select {
	case o := <-c:
		return o.f, o.err
	case <-ctx.Done():
		return nil, cli.ErrInterrupted
	}
}

// mark begins the measured part: what restarted or was lost before does not matter.
func (t *trace) mark() (seen int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restarts, t.lostBefore = 0, t.stats.Lost
	return len(t.cycles)
}

// awaitForced waits until a forced collection was read after the first n, but no longer than that.
func (t *trace) awaitForced(ctx context.Context, n int, patience time.Duration) {
	const least = 20 // looks, however slowly this process runs
	end := time.Now().Add(patience)
	for i := 0; (i < least || time.Now().Before(end)) && ctx.Err() == nil && !t.forcedSince(n); i++ {
		time.Sleep(logPoll)
	}
}

// forcedSince reports whether a collection that was forced was read after the first n.
func (t *trace) forcedSince(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := min(n, len(t.cycles)); i < len(t.cycles); i++ {
		if t.cycles[i].Forced {
			return true
		}
	}
	return false
}
