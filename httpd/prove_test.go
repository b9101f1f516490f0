package httpd

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProve: this release of net/http has the habits that a worker relies on.
func TestProve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := (&proof{}).run(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestClosedTwice tells the proof twice that a connection has ended. In net/http a panic would end
// the process.
func TestClosedTwice(t *testing.T) {
	p := proof{now: observe(dialogues[0])}
	p.stateChanged(p.now, http.StateClosed)
	p.stateChanged(p.now, http.StateClosed)
	<-p.now.ended
}

// small is a connection of which net/http reads less than a worker awaits.
type small struct{ net.Conn }

func (s small) Read(p []byte) (int, error) { return s.Conn.Read(p[:min(len(p), readSize/2)]) }

// wholly is a connection of which net/http always reads as much as begins a request.
type wholly struct {
	net.Conn
	rest []byte
}

func (w *wholly) Read(p []byte) (int, error) {
	if len(w.rest) == 0 && len(p) > 1 { // else it waits for its client to leave
		buf := make([]byte, readSize)
		n, err := w.Conn.Read(buf)
		if n == 0 {
			return 0, err
		}
		w.rest = buf[:n]
	} else if len(w.rest) == 0 {
		return w.Conn.Read(p)
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// deadlines is a connection whose deadlines are set as many times as times says, but for those that
// end a Read.
type deadlines struct {
	*observed
	times func(phase) int
}

func (d deadlines) SetReadDeadline(t time.Time) error {
	d.mu.Lock()
	n, aborted := d.times(d.phase), t.Equal(aborts) || d.deadline.Equal(aborts)
	d.mu.Unlock()
	if aborted {
		n = 1
	}
	for range n {
		_ = d.observed.SetReadDeadline(t)
	}
	return nil
}

// lasting is a connection whose Read goes on when net/http has ended it.
type lasting struct {
	net.Conn
	aborted chan bool
}

func (l lasting) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	buf, read := make([]byte, len(p)), make(chan result, 1)
	go func() {
		n, err := l.Conn.Read(buf)
		read <- result{n, err}
	}()
	select {
	case r := <-read:
		return copy(p, buf[:r.n]), r.err
	case <-l.aborted:
		return 0, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	}
}

func (l lasting) SetReadDeadline(t time.Time) error {
	if t.Equal(aborts) {
		synctest.Wait() // the Read that goes on has begun
		l.aborted <- true
		return nil
	}
	return l.Conn.SetReadDeadline(t)
}

// edited is a connection of which net/http makes something else of what comes: at a Read's end,
// too.
type edited struct {
	net.Conn
	edit func(said []byte, err error) ([]byte, error)
}

func (e edited) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	said, err := e.edit(bytes.Clone(p[:n]), err)
	return copy(p, said), err
}

// deaf is a connection whose reads do not end when net/http wants that.
type deaf struct{ net.Conn }

func (deaf) SetReadDeadline(time.Time) error { return nil }

// after is a body of which there is always more.
type after struct{ io.ReadCloser }

func (after) Read(p []byte) (int, error) { return len(p), nil }

// TestProveBroken plants what another net/http might do, each of which the proof finds.
func TestProveBroken(t *testing.T) {
	twice := func(in phase) func(phase) int {
		return func(now phase) int {
			if now == in {
				return 2
			}
			return 1
		}
	}
	never := func(in phase) func(phase) int {
		return func(now phase) int {
			if now == in {
				return 0
			}
			return 1
		}
	}
	for name, broken := range map[string]struct {
		breaks func(*observed) net.Conn
		keeps  func(io.ReadCloser) io.ReadCloser
		want   string
	}{
		"it reads by another size": {func(o *observed) net.Conn { return small{o} }, nil, "asks for 2048 bytes"},
		"it reads by one size": {
			func(o *observed) net.Conn { return &wholly{Conn: o} }, nil, "has the beginning of a request",
		},
		"it sets no deadline when it is idle": {
			func(o *observed) net.Conn { return deadlines{o, never(answered)} }, nil, "before it has set a deadline",
		},
		"it sets two deadlines when it is idle": {
			func(o *observed) net.Conn { return deadlines{o, twice(answered)} }, nil, "more than one deadline",
		},
		"it sets no deadline for a request": {
			func(o *observed) net.Conn { return deadlines{o, never(between)} }, nil,
			"before it has set the deadline of the request",
		},
		"it reads on": {
			func(o *observed) net.Conn { return lasting{o, make(chan bool)} }, nil,
			"reads on when a request is answered",
		},
		"it does not come to an end": {func(o *observed) net.Conn { return deaf{o} }, nil, "does not come to the end"},
		"it forgives an empty line before any request": {
			func(o *observed) net.Conn {
				return edited{o, func(said []byte, err error) ([]byte, error) {
					return bytes.TrimLeft(said, "\r\n"), err
				}}
			}, nil, "served 2 and refused 0, not 1 and 1",
		},
		"it forgives no empty line": {
			func(o *observed) net.Conn {
				return edited{o, func(said []byte, err error) ([]byte, error) {
					if bytes.HasPrefix(said, []byte("\r\n")) {
						said = append([]byte("\r\n\r\n"), said...)
					}
					return said, err
				}}
			}, nil, "served 1 and refused 1, not 2 and 0",
		},
		"it answers three bytes": {
			func(o *observed) net.Conn {
				return edited{o, func(said []byte, err error) ([]byte, error) {
					if o.torn && err == io.EOF {
						return []byte("\n\n"), nil
					}
					return said, err
				}}
			}, nil, "served 1 and refused 1, not 1 and 0",
		},
		"a body is there later": {
			nil, func(b io.ReadCloser) io.ReadCloser { return after{b} },
			"can be read when its handler has returned",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := (&proof{breaks: broken.breaks, keeps: broken.keeps}).run()
				if err == nil || !strings.Contains(err.Error(), broken.want) {
					t.Errorf("the proof says %v, want %q", err, broken.want)
				}
			})
		})
	}
}

// BenchmarkProve is what the first Serve of a process takes longer.
func BenchmarkProve(b *testing.B) {
	for b.Loop() {
		if err := (&proof{}).run(); err != nil {
			b.Fatal(err)
		}
	}
}
