package reqtrace

import (
	"slices"
	"sort"
	"strings"
)

// What libraries sleep for.
const (
	opRetry   = "pause before a retry"
	opLimiter = "rate limiter"
	opSQLite  = "SQLite lock"
)

// naps are functions of libraries that sleep, with what for; a name that ends in a dot stands for
// all that begin with it. What they call may wait for something else.
var naps = map[string]string{
	"github.com/aws/aws-sdk-go/aws.SleepWithContext":                  opRetry,
	"github.com/aws/smithy-go/time.SleepWithContext":                  opRetry,
	"github.com/avast/retry-go.":                                      opRetry,
	"github.com/avast/retry-go/v3.":                                   opRetry,
	"github.com/avast/retry-go/v4.":                                   opRetry,
	"github.com/avast/retry-go/v5.":                                   opRetry,
	"github.com/cenkalti/backoff.":                                    opRetry,
	"github.com/cenkalti/backoff/v3.":                                 opRetry,
	"github.com/cenkalti/backoff/v4.":                                 opRetry,
	"github.com/cenkalti/backoff/v5.":                                 opRetry,
	"github.com/eapache/go-resiliency/retrier.":                       opRetry,
	"github.com/failsafe-go/failsafe-go/retrypolicy.":                 opRetry,
	"github.com/go-resty/resty/v2.Backoff":                            opRetry,
	"github.com/googleapis/gax-go/v2.Sleep":                           opRetry,
	"github.com/hashicorp/go-retryablehttp.":                          opRetry,
	"github.com/redis/go-redis/v9/internal.Sleep":                     opRetry,
	"github.com/sethvargo/go-retry.":                                  opRetry,
	"go.etcd.io/etcd/client/v3.waitRetryBackoff":                      opRetry,
	"google.golang.org/grpc.(*csAttempt).shouldRetry":                 opRetry,
	"k8s.io/apimachinery/pkg/util/wait.ExponentialBackoff":            opRetry,
	"k8s.io/apimachinery/pkg/util/wait.ExponentialBackoffWithContext": opRetry,
	"k8s.io/client-go/rest.":                                          opRetry,
	"k8s.io/client-go/util/retry.":                                    opRetry,
	"k8s.io/client-go/util/flowcontrol.":                              opLimiter,
	"modernc.org/sqlite.busyHandler":                                  opSQLite,
	"github.com/ncruces/go-sqlite3.env.Xgo_busy_timeout":              opSQLite,
	"github.com/ncruces/go-sqlite3.timeoutCallback":                   opSQLite,
}

// sleepers are functions of libraries that sleep for others of libraries: who calls them knows what
// for.
var sleepers = []string{"github.com/benbjohnson/clock.", "k8s.io/utils/clock.", "golang.org/x/time/rate."}

// busyHandler is how SQLite's function ends that calls the busy handler, in all translations of its
// C. It is at most maxBusyFrames outward of the one that sleeps.
const (
	busyHandler   = "InvokeBusyHandler"
	maxBusyFrames = 6
)

// napOf returns which of the frames inward of a place is the library's that sleeps there, and what
// for, as far as that is known; -1: the stack does not end in a library that may sleep.
func napOf(inner []frame) (op string, at int) {
	at = slices.IndexFunc(inner, func(f frame) bool { return f.owner >= ownerLibrary || !maySleep(&f) })
	if at < 0 || inner[at].owner != ownerLibrary {
		return "", -1
	}
	for i := at; i < min(len(inner), at+maxBusyFrames); i++ {
		if f := &inner[i]; f.owner == ownerLibrary && strings.HasSuffix(f.Func, busyHandler) {
			return opSQLite, at
		}
	}
	caller := at
	for caller+1 < len(inner) && sleepsForOthers(inner[caller].Func) {
		caller++
	}
	if op = opByName(naps, inner[caller].Func); op != "" {
		return op, caller
	}
	return "", at
}

func sleepsForOthers(f string) bool {
	return slices.ContainsFunc(sleepers, func(p string) bool { return strings.HasPrefix(f, p) })
}

// maySleep reports whether a function below those of libraries may be part of a sleep: it does not
// wait for a lock or for a connection.
func maySleep(f *frame) bool {
	return slices.Contains([]string{"runtime", "time", "context", "syscall"}, pathRoot(f.Func)) || f.owner == ownerShim
}

// SQLite has no queue for its lock: who finds it taken sleeps and tries again. So the trace does
// not say who ended the wait. It has the system calls by which files are locked and unlocked, and
// their stacks:
//
//	request's goroutine   │ sleep │ sleep │ sleep ─────┤ commits
//	holder                locks ── anything ── unlocks
//
// Who unlocks first after a sleep began, and had locked before it, had the lock during it. There
// may be several databases, which the trace does not tell apart: one who locked after the sleep
// began is of another.
//
// So end the names of the functions that begin to write, and that commit or roll back what was
// written, in all translations of SQLite's C.
const (
	sqliteLocks   = "BtreeBeginTrans"
	sqliteUnlocks = "pager_end_transaction"
)

// commit is the end of a transaction that wrote.
type commit struct {
	began int64 // when it took the lock; 0: before the trace
	at    int64
	g     *goroutine
	site  siteID
}

// maxCommits is how many ends of transactions are looked at for one sleep.
const maxCommits = 256

// commits takes note of the system calls that lock and unlock SQLite's files.
func (m *model) commits(g *goroutine, info *stackInfo, t int64) {
	switch {
	case info.roles&roleUnlocks != 0:
		c, list := commit{g.locked, t, g, info.site}, m.turns.blamer.commits
		if n := len(list); n > 0 && list[n-1].g == g && list[n-1].began == c.began { // it makes several calls
			list[n-1] = c
			return
		}
		m.turns.blamer.commits = append(list, c)
	case info.roles&roleLocks != 0:
		g.locked = t
	}
}

// prune forgets what was over before horizon.
func (x *blamer) prune(horizon int64) {
	if i := sort.Search(len(x.commits), func(i int) bool { return x.commits[i].at >= horizon }); i > 0 {
		x.commits = append(x.commits[:0], x.commits[i:]...)
	}
}

// transaction returns the one of another goroutine that has SQLite's lock while g sleeps from a on;
// nil: it is not of this process.
func (x *blamer) transaction(g *goroutine, a int64) *commit {
	first := searchBack(len(x.commits), func(i int) bool { return x.commits[i].at >= a })
	for i := first; i < min(len(x.commits), first+maxCommits); i++ {
		c := &x.commits[i]
		switch {
		case c.g == g: // it has the lock
			return nil
		case c.began <= a:
			return c
		}
	}
	return nil
}

// busy follows who has SQLite's lock while p's goroutine sleeps for it in s, from a until b at the
// latest, and returns until when.
func (x *blamer) busy(p *piece, s *segment, a, b int64) (until int64) {
	if s.waker != nil || s.state != stateSleep && s.state != stateChannel || x.known.places[s.site].op != opSQLite {
		return a
	}
	c := x.transaction(p.g, s.start)
	if c == nil || c.at <= a {
		return a
	}
	until = min(b, c.at)
	next := *p
	next.g, next.b, next.held, next.holder = c.g, until, true, c.site
	next.a, next.near, next.writer, next.what = a, 0, 0, 0
	next.hold = c.at - x.napsSince(p.g, s, c.began)
	if p.as == CauseRunning {
		next.as, next.site, next.inside = CauseSleep, x.known.better(s.site, p.site), s.inside
		if p.from == 0 {
			next.from = s.site
		}
	}
	x.todo = append(x.todo, next)
	return until
}

// napsSince returns when the sleeps began of which s is one, after a time.
func (x *blamer) napsSince(g *goroutine, s *segment, after int64) int64 {
	since := s.start
	for i := g.at(s.start); i >= 0 && g.segments[i].start >= after; i-- {
		if q := &g.segments[i]; q.site == s.site && q.state == s.state {
			since = q.start
		}
	}
	return since
}
