// Package feed fetches RSS 2.0 feeds and keeps a copy of each. Three things about [Cache] are worth
// copying:
//
//   - It does not hold its lock while it fetches. Requests get the old copy during a refresh.
//     [Options.HoldLock] makes that mistake, which evenkeel explain finds.
//   - At most one goroutine refreshes.
//   - A feed that fails is tried again after a back-off, and its last good copy stays in use.
//
// Bytes, items and lengths are bounded, links are http or https, and mark-up is removed. A page has
// to escape the texts.
package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// ErrClosed is what Get returns when the cache was closed before it had a copy.
var ErrClosed = errors.New("feed cache closed")

// Options configures a [Cache].
type Options struct {
	TTL      time.Duration // age at which a copy is refreshed; 0: 15 minutes
	Timeout  time.Duration // of one fetch; 0: 5 seconds
	HoldLock bool          // fetch with the lock held, so that all wait
	Logger   *slog.Logger  // nil: slog.Default()
}

// The wait after a first failure doubles at each further one.
const (
	minBackoff = 5 * time.Second
	maxBackoff = 5 * time.Minute
)

// Copy is a feed as it was fetched. Requests share Items.
type Copy struct {
	Items   []Item
	Fetched time.Time
	Stale   error // why the last refresh failed
}

// Cache keeps the last good copy of one feed. Any goroutine may call its methods.
type Cache struct {
	fetch func(context.Context) ([]Item, error)
	opts  Options

	mu       sync.Mutex // guards what follows; held during a fetch by Options.HoldLock alone
	items    []Item
	fetched  time.Time // when; zero: there is none
	err      error     // of the last fetch
	failures int
	due      time.Time
	running  chan struct{} // closed when the fetch under way ends
	cancel   context.CancelFunc
	closed   bool
}

// NewCache returns an empty cache over fetch. One goroutine at a time calls it.
func NewCache(fetch func(context.Context) ([]Item, error), opts Options) *Cache {
	opts.TTL = cmp.Or(opts.TTL, 15*time.Minute)
	opts.Timeout = cmp.Or(opts.Timeout, 5*time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	return &Cache{fetch: fetch, opts: opts}
}

// Get returns the newest copy, and starts a refresh in the background if one is due. It waits only
// for the first fetch of all. Without a copy it returns the error of the last fetch.
func (c *Cache) Get(ctx context.Context) (Copy, error) {
	for {
		c.mu.Lock()
		c.refreshLocked()
		switch {
		case !c.fetched.IsZero():
			copied := Copy{Items: c.items, Fetched: c.fetched, Stale: c.err}
			c.mu.Unlock()
			return copied, nil
		case c.err != nil: // known to fail, so that no request waits
			err := c.err
			c.mu.Unlock()
			return Copy{}, err
		case c.closed:
			c.mu.Unlock()
			return Copy{}, ErrClosed
		}
		first := c.running
		c.mu.Unlock()

		select {
		case <-first:
		case <-ctx.Done():
			return Copy{}, context.Cause(ctx)
		}
	}
}

// Refresh starts a fetch in the background if one is due.
func (c *Cache) Refresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refreshLocked()
}

// Close ends a fetch under way. Copies stay readable.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	running := c.running
	if running != nil {
		c.cancel()
	}
	c.mu.Unlock()
	if running != nil {
		<-running
	}
}

func (c *Cache) refreshLocked() {
	if c.closed || c.running != nil || time.Now().Before(c.due) {
		return
	}
	// The request that starts a fetch may leave, and others wait for the same fetch.
	ctx, cancel := context.WithTimeout(context.Background(), c.opts.Timeout)
	c.cancel, c.running = cancel, make(chan struct{})
	start := time.Now()
	if c.opts.HoldLock {
		items, err := c.fetch(ctx)
		c.fetchedLocked(items, err, start)
		return
	}
	go func() {
		items, err := c.fetch(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fetchedLocked(items, err, start)
	}()
}

func (c *Cache) fetchedLocked(items []Item, err error, start time.Time) {
	now := time.Now()
	defer close(c.running)
	c.cancel()
	c.running = nil
	switch {
	case err == nil:
		c.items, c.fetched, c.err, c.failures = items, now, nil, 0
		c.due = now.Add(c.opts.TTL)
		c.opts.Logger.Info("feed refreshed", "items", len(items), "took", now.Sub(start))
	case c.closed: // Close has cancelled it
	default:
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no complete answer within %v: %w", c.opts.Timeout, err)
		}
		wait := min(minBackoff<<min(c.failures, 10), maxBackoff)
		c.failures++
		c.err, c.due = err, now.Add(wait)
		c.opts.Logger.Warn("feed failed", "err", err, "retry_in", wait, "kept_items", len(c.items))
	}
}
