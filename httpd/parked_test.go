package httpd

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestWheel: connections with deadlines of all lengths, in any order, are found when their time is
// over, and not before; also when nobody looked for long.
func TestWheel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var w wheel
	left := map[*conn]bool{}
	for now := time.Duration(0); now < 4*ticks*tick; now += time.Duration(rng.Int64N(int64(ticks * tick / 40))) {
		for c := range w.over(now) {
			if c.until > now {
				t.Fatalf("one of %v is over at %v", c.until, now)
			}
			w.list(c).remove(c)
			delete(left, c)
		}
		for c := range left {
			if c.until > 0 && c.until/tick < now/tick {
				t.Fatalf("one of %v is not over at %v", c.until, now)
			}
			if rng.IntN(10) == 0 {
				w.list(c).remove(c)
				delete(left, c)
			}
		}
		next := w.next()
		for c := range left {
			if c.until > 0 && c.until < now+ticks*tick && (next == 0 || next > (c.until/tick+1)*tick) {
				t.Fatalf("looks at %v after %v, though one is over at %v", next, now, c.until)
			}
		}
		for range 20 {
			c := &conn{}
			if rng.IntN(10) > 0 {
				c.until = now + 1 + time.Duration(rng.Int64N(int64(2*ticks*tick)))
			}
			w.list(c).push(c)
			left[c] = true
		}
		n := 0
		for c := range w.all() {
			if n++; !left[c] {
				t.Fatal("one is there that was removed")
			}
		}
		if n != len(left) {
			t.Fatalf("%d are there, want %d", n, len(left))
		}
	}
}

// BenchmarkPark parks and unparks one beside 100,000, whose deadlines come in any order.
func BenchmarkPark(b *testing.B) {
	var w wheel
	all := make([]conn, 100_000)
	for i := range all {
		all[i].until = 1 + time.Duration(rand.Int64N(int64(5*time.Minute)))
		w.list(&all[i]).push(&all[i])
	}
	for i := 0; b.Loop(); i++ {
		c := &all[i%len(all)]
		w.list(c).remove(c)
		w.list(c).push(c)
	}
}

// BenchmarkExpire looks for those whose time is over among 100,000, as it is done ten times a second.
func BenchmarkExpire(b *testing.B) {
	var w wheel
	all := make([]conn, 100_000)
	for i := range all {
		all[i].until = 1 + time.Duration(i)*(3*time.Minute)/100_000
		w.list(&all[i]).push(&all[i])
	}
	now := time.Duration(0)
	for b.Loop() {
		if now += tick; now > 3*time.Minute {
			w.swept, now = 0, tick
		}
		for range w.over(now) { // they stay
		}
		w.next()
	}
}
