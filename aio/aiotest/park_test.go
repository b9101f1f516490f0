package aiotest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/aiotest"
	"evenkeel.dev/internal/proactor"
)

// hooked calls functions at moments of a WaitIO that another goroutine may hit.
type hooked struct {
	*aiotest.Backend
	polled, parking func()
}

func (b *hooked) Poll(done []*proactor.Op) ([]*proactor.Op, error) {
	done, err := b.Backend.Poll(done)
	b.polled()
	return done, err
}

func (b *hooked) Park(most time.Duration) error {
	b.parking()
	return b.Backend.Park(most)
}

// TestSubmissionWhileParking submits when WaitIO has looked for submissions and has not parked.
func TestSubmissionWhileParking(t *testing.T) {
	for _, mode := range []aiotest.Mode{aiotest.Completion, aiotest.Readiness} {
		for _, at := range []string{"after Poll", "before Park"} {
			t.Run(mode.String()+"/"+at, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { submitWhileParking(t, mode, at) })
			})
		}
	}
}

func submitWhileParking(t *testing.T, mode aiotest.Mode, at string) {
	b := &hooked{Backend: aiotest.NewBackend(aiotest.Options{Mode: mode})}
	w, err := aio.NewOver(aio.Options{}, b)
	if err != nil {
		t.Fatal(err)
	}
	conn, peer := aiotest.Pair(100)
	if err := w.Read(nil, conn, nil); err != nil { // it is delegated, so a submission needs no more
		t.Fatal(err)
	}
	calls := 0
	submit := func() {
		if calls++; calls == 2 { // the first Park does not wait: the delegation was a change
			if err := w.Write(nil, conn, []byte("x")); err != nil {
				t.Error(err)
			}
		}
	}
	nothing := func() {}
	if b.polled, b.parking = submit, nothing; at == "before Park" {
		b.polled, b.parking = nothing, submit
	}
	late := time.AfterFunc(time.Second, func() {
		t.Error("a submission is lost")
		_ = w.Close()
	})
	defer late.Stop()
	if results, err := w.WaitIO(); err != nil || len(results) != 1 || results[0].Operation != aio.OpWrite {
		t.Error(results, err)
	}
	_ = w.Close()
	_, _ = w.WaitIO()
	_ = peer.Close()
}
