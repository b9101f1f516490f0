package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// source is a feed whose fetches take a while and may fail.
type source struct {
	takes time.Duration
	fail  atomic.Bool

	fetches atomic.Int32
	running atomic.Int32
	overlap atomic.Bool
}

var errDown = errors.New("down")

func (s *source) fetch(ctx context.Context) ([]Item, error) {
	if s.running.Add(1) > 1 {
		s.overlap.Store(true)
	}
	defer s.running.Add(-1)
	n := s.fetches.Add(1)
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.fail.Load() {
		return nil, errDown
	}
	return []Item{{Title: fmt.Sprint("copy ", n)}}, nil
}

func inBubble(t *testing.T, src *source, opts Options, test func(t *testing.T, c *Cache)) {
	synctest.Test(t, func(t *testing.T) {
		opts.Logger = quiet
		c := NewCache(src.fetch, opts)
		test(t, c)
		c.Close()
		if src.overlap.Load() {
			t.Error("two fetches ran at once")
		}
	})
}

// get wants the copy with this title at once.
func get(t *testing.T, c *Cache, want string) Copy {
	t.Helper()
	start := time.Now()
	got, err := c.Get(t.Context())
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	if waited := time.Since(start); waited != 0 {
		t.Errorf("Get waited %v", waited)
	}
	if got.Items[0].Title != want {
		t.Errorf("got %q, want %q", got.Items[0].Title, want)
	}
	return got
}

func (s *source) wantFetches(t *testing.T, want int32) {
	t.Helper()
	if got := s.fetches.Load(); got != want {
		t.Errorf("%d fetches, want %d", got, want)
	}
}

func TestCacheFirstLoad(t *testing.T) {
	src := &source{takes: time.Second}
	inBubble(t, src, Options{}, func(t *testing.T, c *Cache) {
		start := time.Now()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := c.Get(t.Context()); err != nil {
					t.Errorf("Get: %v", err)
				}
				if waited := time.Since(start); waited != time.Second {
					t.Errorf("waited %v for the first copy, want 1s", waited)
				}
			})
		}
		wg.Wait()
		src.wantFetches(t, 1)
	})
}

func TestCacheFirstLoadIsBoundedByContext(t *testing.T) {
	src := &source{takes: 3 * time.Second}
	inBubble(t, src, Options{}, func(t *testing.T, c *Cache) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get: %v, want the deadline", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		get(t, c, "copy 1") // the fetch went on without its request
	})
}

func TestCacheExpiry(t *testing.T) {
	src := &source{takes: time.Second}
	inBubble(t, src, Options{}, func(t *testing.T, c *Cache) {
		c.Refresh()
		time.Sleep(time.Second)
		synctest.Wait()

		time.Sleep(15*time.Minute - time.Nanosecond)
		get(t, c, "copy 1")
		synctest.Wait()
		src.wantFetches(t, 1)

		time.Sleep(time.Nanosecond)
		get(t, c, "copy 1") // the old copy, which begins a refresh
		synctest.Wait()
		src.wantFetches(t, 2)

		time.Sleep(time.Second)
		synctest.Wait()
		get(t, c, "copy 2")
	})
}

func TestCacheNobodyWaitsForARefresh(t *testing.T) {
	src := &source{takes: 4 * time.Second}
	inBubble(t, src, Options{}, func(t *testing.T, c *Cache) {
		if _, err := c.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Minute)
		for range 40 { // 3.9 seconds of requests during one fetch
			var wg sync.WaitGroup
			for range 25 {
				wg.Go(func() { get(t, c, "copy 1") })
			}
			wg.Wait()
			time.Sleep(99 * time.Millisecond)
		}
		src.wantFetches(t, 2)
	})
}

func TestCacheBackoff(t *testing.T) {
	src := &source{}
	src.fail.Store(true)
	inBubble(t, src, Options{TTL: time.Hour}, func(t *testing.T, c *Cache) {
		if _, err := c.Get(t.Context()); !errors.Is(err, errDown) {
			t.Fatalf("Get: %v, want %v", err, errDown)
		}
		fetches := int32(1)
		for _, wait := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
			wait *= time.Second
			for range 10 {
				if _, err := c.Get(t.Context()); !errors.Is(err, errDown) {
					t.Errorf("Get: %v, want %v", err, errDown)
				}
			}
			time.Sleep(wait - time.Nanosecond)
			c.Refresh()
			synctest.Wait()
			src.wantFetches(t, fetches)

			time.Sleep(time.Nanosecond)
			c.Refresh()
			synctest.Wait()
			fetches++
			src.wantFetches(t, fetches)
		}

		src.fail.Store(false)
		time.Sleep(maxBackoff)
		c.Refresh()
		synctest.Wait()
		get(t, c, "copy 10")

		src.fail.Store(true)
		time.Sleep(time.Hour)
		c.Refresh()
		synctest.Wait()
		time.Sleep(minBackoff)
		c.Refresh()
		synctest.Wait()
		src.wantFetches(t, 12)
	})
}

func TestCacheKeepsStaleCopy(t *testing.T) {
	src := &source{}
	inBubble(t, src, Options{}, func(t *testing.T, c *Cache) {
		c.Refresh()
		synctest.Wait()
		if got := get(t, c, "copy 1"); got.Stale != nil {
			t.Errorf("Stale = %v for a good copy", got.Stale)
		}
		fetched := time.Now()

		src.fail.Store(true)
		time.Sleep(time.Hour)
		c.Refresh()
		synctest.Wait()
		got := get(t, c, "copy 1")
		if !errors.Is(got.Stale, errDown) || !got.Fetched.Equal(fetched) {
			t.Errorf("Stale = %v, Fetched = %v; want %v and %v", got.Stale, got.Fetched, errDown, fetched)
		}

		src.fail.Store(false)
		time.Sleep(5 * time.Second)
		c.Refresh()
		synctest.Wait()
		if got := get(t, c, "copy 3"); got.Stale != nil {
			t.Errorf("Stale = %v after a good refresh", got.Stale)
		}
	})
}

func TestCacheTimeout(t *testing.T) {
	src := &source{takes: time.Hour}
	inBubble(t, src, Options{Timeout: 2 * time.Second}, func(t *testing.T, c *Cache) {
		start := time.Now()
		_, err := c.Get(t.Context())
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("Get: %v after %v, want a timeout after 2s", err, time.Since(start))
		}
		// A feed that has never answered delays no request a second time.
		time.Sleep(5 * time.Second)
		start = time.Now()
		if _, err := c.Get(t.Context()); err == nil || time.Since(start) != 0 {
			t.Errorf("Get: %v after %v, want the old error at once", err, time.Since(start))
		}
		synctest.Wait()
		src.wantFetches(t, 2)
	})
}

func TestCacheClose(t *testing.T) {
	src := &source{takes: 3 * time.Second}
	inBubble(t, src, Options{}, func(t *testing.T, c *Cache) {
		got := make(chan error)
		go func() {
			_, err := c.Get(context.WithoutCancel(t.Context()))
			got <- err
		}()
		synctest.Wait()
		start := time.Now()
		c.Close()
		c.Close()
		if err := <-got; !errors.Is(err, ErrClosed) {
			t.Errorf("Get: %v, want %v", err, ErrClosed)
		}
		if time.Since(start) != 0 {
			t.Errorf("Close waited %v", time.Since(start))
		}
		c.Refresh()
		synctest.Wait()
		src.wantFetches(t, 1)
	})
}

// TestCacheHoldLock tests that requests wait for the fetch.
func TestCacheHoldLock(t *testing.T) {
	src := &source{takes: time.Second}
	inBubble(t, src, Options{TTL: time.Minute, HoldLock: true}, func(t *testing.T, c *Cache) {
		for _, want := range []string{"copy 1", "copy 2"} {
			start := time.Now()
			got, err := c.Get(t.Context())
			if err != nil || len(got.Items) != 1 || got.Items[0].Title != want {
				t.Errorf("Get = %+v, %v, want %s", got, err, want)
			}
			if d := time.Since(start); d != src.takes {
				t.Errorf("it took %v, want that of the fetch, %v", d, src.takes)
			}
			get(t, c, want)
			time.Sleep(2 * time.Minute)
		}
	})
}
