package polled

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPeersThatHearInAnswers: a peer that polls slowly hears it in the answers to requests: the
// drain ends when these stop, and the peer is awaited on the way back although no poll was answered
// "draining".
func TestPeersThatHearInAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := Demand{Answers: 1, InAnswers: true}
		var p Peers
		if err := p.CanConfirm(time.Second, d); !errors.Is(err, ErrNoPolls) {
			t.Errorf("CanConfirm returned %v where nobody polls", err)
		}
		go poll(ctx, &p, "127.0.0.1", time.Second)
		time.Sleep(3*time.Second + 300*time.Millisecond) // between two polls
		if err := p.CanConfirm(100*time.Millisecond, d); err == nil {
			t.Error("without a counter of requests, slow polls can be confirmed")
		}
		var c counter
		p.Attach(&c)
		if err := p.CanConfirm(100*time.Millisecond, d); err != nil {
			t.Errorf("CanConfirm returned %v", err)
		}
		go func() { // requests that come for a while yet
			for range 20 {
				time.Sleep(2 * time.Millisecond)
				c.enter()
			}
		}()
		begin := time.Now()
		if err := p.Drain(ctx, d); err != nil {
			t.Fatal(err)
		}
		if took, want := time.Since(begin), 40*time.Millisecond+quietFor; took < want || took > want+2*quietTick {
			t.Errorf("Drain took %v with requests for 40 ms, want %v", took, want)
		}
		begin = time.Now()
		if err := p.Ready(ctx, d); err != nil {
			t.Fatal(err)
		}
		// No request proves the return.
		if took := time.Since(begin) - ProofTimeout; took < time.Second || took > 2*time.Second {
			t.Errorf("Ready took %v beyond %v, want until the second poll that follows", took, ProofTimeout)
		}
	})
}

// TestReadyAfterAnUnconfirmedDrainInAnswers: a peer may have heard it in an answer although
// requests of others kept coming and no poll fell into the drain.
func TestReadyAfterAnUnconfirmedDrainInAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := Demand{Answers: 1, InAnswers: true}
		var p Peers
		var c counter
		p.Attach(&c)
		go poll(ctx, &p, "127.0.0.1", 500*time.Millisecond)
		go func() {
			for every := time.NewTicker(5 * time.Millisecond); ; {
				select {
				case <-ctx.Done():
					return
				case <-every.C:
					c.enter()
				}
			}
		}()
		time.Sleep(3*time.Second + 100*time.Millisecond) // between two polls
		short, end := context.WithTimeout(ctx, 200*time.Millisecond)
		defer end()
		if err := p.Drain(short, d); err == nil {
			t.Error("the drain was confirmed")
		}
		begin := time.Now()
		if err := p.Ready(ctx, d); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 500*time.Millisecond {
			t.Errorf("Ready took %v, want until the second poll that follows", took)
		}
	})
}

// TestDrainWithoutInAnswersWaitsForPolls: silence is no proof.
func TestDrainWithoutInAnswersWaitsForPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var p Peers
		p.Attach(new(counter))
		go poll(ctx, &p, "127.0.0.1", time.Second)
		time.Sleep(3*time.Second + 300*time.Millisecond)
		begin := time.Now()
		if err := p.Drain(ctx, once); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < time.Second {
			t.Errorf("Drain took %v, want two polls", took)
		}
	})
}
