package gclog

import (
	"context"
	"io"
	"time"
)

// Tail reads a growing file until its context ends, and then to the end of the file.
type Tail struct {
	Context context.Context
	File    io.Reader
	Poll    time.Duration
	AtEnd   func() // called at each end for now; nil: nothing
}

func (t *Tail) Read(b []byte) (int, error) {
	for {
		ended := t.Context.Err() != nil // before the last read, so that nothing is left out
		n, err := t.File.Read(b)
		if n > 0 || err != io.EOF || ended {
			return n, err
		}
		if t.AtEnd != nil {
			t.AtEnd()
		}
		select {
		case <-t.Context.Done():
		case <-time.After(t.Poll):
		}
	}
}
