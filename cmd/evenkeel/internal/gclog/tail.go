package gclog

import (
	"context"
	"io"
	"time"
)

// Tail reads a growing file until its context ends, and then to where its end is.
type Tail struct {
	Context context.Context
	File    io.Reader
	Poll    time.Duration
	AtEnd   func() // called whenever it stands at the end for now; nil: nobody
}

func (t *Tail) Read(b []byte) (int, error) {
	for {
		ended := t.Context.Err() != nil // before the last look, or what came meanwhile would be left out
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
