package aiosuite

import (
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// hooked calls functions at moments of a WaitIO that another goroutine may hit.
type hooked struct {
	*Backend
	polled, waiting func()
}

func (b *hooked) Poll(done []*proactor.Op) ([]*proactor.Op, error) {
	done, err := b.Backend.Poll(done)
	b.polled()
	return done, err
}

func (b *hooked) Wait(timeout time.Duration) error {
	b.waiting()
	return b.Backend.Wait(timeout)
}

// TestSubmissionBeforeWaiting submits when WaitIO has looked for submissions and does not wait yet.
func TestSubmissionBeforeWaiting(t *testing.T) {
	for _, mode := range []Mode{Completion, Readiness} {
		for _, at := range []string{"after Poll", "before Wait"} {
			t.Run(mode.String()+"/"+at, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { submitBeforeWaiting(t, mode, at) })
			})
		}
	}
}

func submitBeforeWaiting(t *testing.T, mode Mode, at string) {
	b := &hooked{Backend: NewBackend(Options{Mode: mode})}
	w, err := NewWatcher(aio.Options{}, b)
	if err != nil {
		t.Fatal(err)
	}
	own, peer := Pair(100)
	conn, err := w.Attach(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Read(nil, nil, aio.NoDeadline); err != nil {
		t.Fatal(err)
	}
	calls := 0
	submit := func() {
		if calls++; calls == 2 { // the first Wait does not wait: Attach was a change
			if err := conn.Write(nil, []byte("x"), aio.NoDeadline); err != nil {
				t.Error(err)
			}
		}
	}
	nothing := func() {}
	if b.polled, b.waiting = submit, nothing; at == "before Wait" {
		b.polled, b.waiting = nothing, submit
	}
	late := time.AfterFunc(time.Second, func() {
		t.Error("a submission is lost")
		_ = w.Close()
	})
	defer late.Stop()
	if results, err := w.WaitIO(); err != nil || len(results) != 1 || results[0].Op != aio.OpWrite {
		t.Error(results, err)
	}
	_ = w.Close()
	_, _ = w.WaitIO()
	_ = peer.Close()
}
