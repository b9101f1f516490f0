package aiosuite

import (
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/aio"
)

var concurrentTests = []test{
	{"WokenBySubmission", wokenBySubmission, false},
	{"SubmissionBeforeWaiting", submissionBeforeWaiting, true},
	{"ManySubmitters", manySubmitters, false},
	{"ConcurrentWaitIO", concurrentWaitIO, false},
	{"ConnCloseInTheMidst", connCloseInTheMidst, false},
	{"CloseInTheMidst", closeInTheMidst, false},
}

// wokenBySubmission: a waiting WaitIO begins what another goroutine submits.
func wokenBySubmission(r *rig) {
	conn, peer := r.pair()
	r.read(conn, 1)
	go func() { _, _ = io.Copy(io.Discard, peer) }()
	for range 20 {
		done, waits := make(chan *ticket), r.waits()
		go func() {
			waits()
			k, _ := r.submit(ticket{op: aio.OpWrite, conn: conn, buf: []byte("x")})
			done <- k
		}()
		_, err := r.wait()
		k := <-done
		if err != nil || k == nil {
			r.t.Fatal(err)
		}
		r.want(k, 1, nil)
	}
}

// submissionBeforeWaiting: one that comes at any moment of WaitIO's way to its wait is begun.
func submissionBeforeWaiting(r *rig) {
	const rounds = 30 // up to 10 ms each, as it spins: the runtime looks for events then
	w := r.w
	var returned, spin atomic.Int32
	var failed atomic.Bool
	ended := make(chan struct{})
	rng := rand.New(rand.NewPCG(1, 6))
	go func() {
		defer close(ended)
		for i := range int32(rounds) {
			// It does not wait for the goroutine in WaitIO, which would be waiting by then.
			for spins := 0; returned.Load() < i && !failed.Load(); spins++ {
				if spins > 1000 {
					runtime.Gosched()
				}
			}
			for range rng.IntN(300) { // some moments later
				spin.Add(1)
			}
			_ = w.Post(nil)
		}
	}()
	watchdog := time.AfterFunc(stuck, func() {
		r.t.Errorf("WaitIO has returned nothing for %v: a submission is lost", stuck)
		failed.Store(true)
		_ = w.Close()
	})
	defer watchdog.Stop()
	for range rounds {
		if _, err := w.WaitIO(); err != nil {
			break
		}
		returned.Add(1)
	}
	<-ended
	r.open(aio.Options{}) // for the ledger, which has none of these
}

// manySubmitters: any goroutine submits while one is in WaitIO.
func manySubmitters(r *rig) {
	const submitters, rounds = 8, 40
	r.rough = true
	var wg sync.WaitGroup
	shared, sharedPeer := r.pair()
	delivered := sink(sharedPeer)
	conns := []*aio.Conn{shared}
	for id := range submitters {
		conn, peer := r.pair()
		conns = append(conns, conn)
		wg.Go(func() { _, _ = io.Copy(peer, peer) })
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(id), 4))
			for range rounds {
				n := 1 + rng.IntN(300)
				for _, k := range []ticket{
					{conn: conn, buf: make([]byte, n), full: true},
					{op: aio.OpWrite, conn: conn, buf: pattern(id, 0, n)},
					{op: aio.OpWrite, conn: shared, buf: []byte{byte(id)}},
				} {
					if _, err := r.submit(k); err != nil {
						r.t.Error(err)
					}
				}
				time.Sleep(upTo(rng, 300*time.Microsecond))
			}
		})
	}
	for returned := 0; returned < 3*submitters*rounds; {
		results, err := r.wait()
		if err != nil {
			r.t.Fatal(err)
		}
		returned += len(results)
		for _, res := range results {
			if k := res.Tag.(*ticket); res.Error != nil || k.full && res.Size > 0 && k.buf[0] != res.Buffer[0] {
				r.t.Errorf("%+v", res)
			}
		}
	}
	for _, c := range conns {
		_ = c.Close() // its peer reads its end
	}
	wg.Wait()
	data, _ := delivered()
	counts := make([]int, submitters)
	for _, id := range data {
		counts[id]++
	}
	for id, n := range counts {
		if n != rounds {
			r.t.Errorf("%d bytes of submitter %d came, want %d", n, id, rounds)
		}
	}
}

// concurrentWaitIO: while a goroutine is in WaitIO others are refused, and take nothing from it:
// not the operation that it waits for, nor the results that it has. One after the other may.
func concurrentWaitIO(r *rig) {
	conn, peer := r.pair()
	for i := range byte(5) {
		k := r.readSwap(conn)
		returned := make(chan error)
		waits := r.waits()
		go func() {
			_, err := r.wait()
			returned <- err
		}()
		waits()
		var others sync.WaitGroup
		for range 3 {
			others.Go(func() {
				if results, err := r.w.WaitIO(); results != nil || err != aio.ErrWaiting {
					r.t.Errorf("a second WaitIO: %v, %v; want ErrWaiting", results, err)
				}
			})
		}
		others.Wait()
		r.send(peer, []byte{i})
		if err := <-returned; err != nil {
			r.t.Fatal(err)
		}
		r.wantData(k, []byte{i})
	}
}

// connCloseInTheMidst: connections are closed by others while they are busy.
func connCloseInTheMidst(r *rig) {
	const conns = 20
	r.rough = true
	var wg sync.WaitGroup
	left := atomic.Int32{}
	for id := range conns {
		conn, peer := r.pair()
		wg.Go(func() { _, _ = io.Copy(peer, peer) })
		left.Add(1)
		wg.Go(func() {
			defer left.Add(-1)
			rng := rand.New(rand.NewPCG(uint64(id), 5))
			closeAfter := rng.IntN(30)
			for i := range 30 {
				if i == closeAfter {
					if err := conn.Close(); err != nil {
						r.t.Error(err)
					}
				}
				_, _ = r.submit(ticket{conn: conn})
				_, _ = r.submit(ticket{op: aio.OpWrite, conn: conn, buf: pattern(id, 0, 100)})
				time.Sleep(upTo(rng, 200*time.Microsecond))
			}
		})
	}
	for left.Load() > 0 || r.w.Stats().Pending > 1 {
		results, err := r.idleOnce()
		if err != nil {
			r.t.Fatal(err)
		}
		for _, res := range results {
			switch res.Error {
			case nil, aio.ErrClosed, aio.ErrDeadline:
			default:
				r.t.Errorf("%v", res.Error)
			}
		}
	}
	wg.Wait()
	if s := r.w.Stats(); s.Conns != 1 { // the clock
		r.t.Errorf("all were closed: %+v", s)
	}
}

// idleOnce is one WaitIO that does not wait long. One operation stays pending.
func (r *rig) idleOnce() ([]aio.Result, error) {
	if r.clock == nil {
		conn, _ := r.pair()
		r.clock = &ticket{conn: conn, times: 1}
	}
	if r.times(r.clock) > 0 {
		r.clock = r.must(ticket{conn: r.clock.conn, buf: make([]byte, 1), deadline: time.Now().Add(time.Millisecond)})
	}
	return r.wait()
}

// closeInTheMidst: Close comes while others submit and WaitIO works.
func closeInTheMidst(r *rig) {
	r.rough = true
	var wg sync.WaitGroup
	for id := range 8 {
		conn, peer := r.pair()
		wg.Go(func() { _, _ = io.Copy(peer, peer) })
		wg.Go(func() { submitUntilClosed(r, conn, id) })
	}
	wg.Go(func() {
		time.Sleep(soon / 3)
		_ = r.w.Close()
	})
	r.drain()
	wg.Wait()
}

func submitUntilClosed(r *rig, conn *aio.Conn, id int) {
	for {
		for _, k := range []ticket{{conn: conn}, {op: aio.OpWrite, conn: conn, buf: pattern(id, 0, 50)}} {
			switch _, err := r.submit(k); err {
			case nil:
			case aio.ErrWatcherClosed:
				return
			default:
				r.t.Error(err)
				return
			}
		}
		time.Sleep(50 * time.Microsecond)
	}
}

var postTests = []test{
	{"Post", post, false},
	{"PostWakes", postWakes, false},
	{"PostsBounded", postsBounded, false},
}

// post: it is over at once, whatever else is pending, in the order of the submissions.
func post(r *rig) {
	conn, _ := r.pair()
	pending := r.read(conn, 1)
	ks := []*ticket{r.must(ticket{op: aio.OpPost}), r.write(conn, []byte("x")), r.must(ticket{op: aio.OpPost})}
	r.until(ks...)
	r.wantPending(pending)
}

// postWakes: a waiting WaitIO returns what another goroutine has posted.
func postWakes(r *rig) {
	for range 10 {
		waits, posted := r.waits(), make(chan *ticket)
		go func() {
			waits()
			k, _ := r.submit(ticket{op: aio.OpPost})
			posted <- k
		}()
		results, err := r.wait()
		if k := <-posted; err != nil || len(results) != 1 || r.times(k) != 1 {
			r.t.Fatal(results, err)
		}
	}
}

// postsBounded: one more than MaxQueued is refused, until they were returned.
func postsBounded(r *rig) {
	const limit = 4
	r.open(aio.Options{MaxQueued: limit})
	for range 3 {
		var ks []*ticket
		for range limit {
			ks = append(ks, r.must(ticket{op: aio.OpPost}))
		}
		r.refuse(aio.ErrQueueFull, ticket{op: aio.OpPost})
		r.until(ks...)
	}
}
