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

// logHistory is how much of an existing log is read, for the heap before the window.
const logHistory = 1 << 20

// follow reads a growing log, "-" for standard input. It returns once it has read what exists. stop
// reads to the end, except of a pipe. The earliest (arrival - end) of a line is the start of the
// runtime.
func (t *trace) follow(ctx context.Context, name string) (stop func(), err error) {
	t.log = name
	if name == cli.ToStdout {
		t.log = cli.StdinName
		go t.scan(os.Stdin)
		time.Sleep(logRest) // for what exists
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
		rest = time.After(logRest) // for what exists
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

// mark begins the measured part, and forgets restarts and losses before it.
func (t *trace) mark() (seen int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restarts, t.lostBefore = 0, t.stats.Lost
	return len(t.cycles)
}

// awaitForced waits for a forced collection after the first n, at most for patience.
func (t *trace) awaitForced(ctx context.Context, n int, patience time.Duration) {
	const least = 20 // looks, however slow this process is
	end := time.Now().Add(patience)
	for i := 0; (i < least || time.Now().Before(end)) && ctx.Err() == nil && !t.forcedSince(n); i++ {
		time.Sleep(logPoll)
	}
}

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
