package reqtrace

import (
	"slices"
	"strings"
)

// A goroutine holds a resource. A wait for one is a wait for its holder, as with a lock.
const (
	opPool      = "connection pool"
	opSemaphore = "semaphore"
)

// opStream is a gRPC call's wait for a free stream of its connection, in newStream's own body.
const (
	opStream  = "gRPC stream"
	newStream = "google.golang.org/grpc/internal/transport.(*http2Client).NewStream"
)

const (
	opMutex   = "mutex"
	opRWMutex = "RWMutex"
)

// ops says what functions wait for. A dot at the end stands for all that begin so. The outermost on
// a stack counts, because a semaphore has a mutex inside.
var ops = map[string]string{
	"database/sql.(*DB).conn":                     opPool,
	"github.com/jackc/pgx/v5/pgxpool.(*Pool).":    opPool,
	"github.com/jackc/puddle/v2.(*Pool[...]).":    opPool,
	"github.com/redis/go-redis/v9/internal/pool.": opPool,
	"github.com/gomodule/redigo/redis.(*Pool).":   opPool,
	"golang.org/x/sync/semaphore.(*Weighted).":    opSemaphore,
	"golang.org/x/sync/singleflight.(*Group).":    "singleflight",
	"golang.org/x/sync/errgroup.(*Group).":        "group of goroutines",
	"sync.(*WaitGroup).":                          "group of goroutines",
	"sync.(*Cond).":                               "condition",
	"sync.(*Once).":                               "Once",
	"sync.(*RWMutex).":                            opRWMutex,
	"sync.(*Mutex).":                              opMutex,
	"internal/sync.(*Mutex).":                     opMutex,
	"golang.org/x/time/rate.(*Limiter).":          opLimiter,
	"go.uber.org/ratelimit.":                      opLimiter,
	"github.com/juju/ratelimit.(*Bucket).":        opLimiter,
	"time.Sleep":                                  "sleep",
	"net/http.(*Transport).getConn":               "connection to a server",
	"net.(*TCPListener).":                         "listener",
	"net/http.checkConnErrorWriter.":              "client, which reads the answer",
	"net/http.(*body).":                           "client, which sends the request",
}

// innerOps count even within ops. A pool opens a connection.
var innerOps = map[string]string{
	"net.(*Resolver).":                    "name server",
	"net.(*Dialer).":                      "new connection",
	"crypto/tls.(*Conn).HandshakeContext": "TLS handshake",
}

func (s *sites) hasOneHolder(seg *segment) bool {
	p := &s.places[seg.site]
	return p.isResource() || seg.state == stateChannel && seg.held || p.op == opMutex || p.op == opRWMutex
}

// sameHeld reports whether seg waits for the same thing as a wait at the place what, or for the
// same kind of resource. Of a wait from before the trace only the waker may be known
// (runtime/traceruntime.go, emitUnblockStatus). It was for a mutex if a mutex was released.
func (s *sites) sameHeld(seg *segment, what siteID) bool {
	op := s.places[what].op
	switch {
	case seg.waker == nil || seg.state != stateLock && seg.state != stateChannel && seg.state != stateUnknown:
		return false
	case seg.state == stateUnknown && seg.site == 0:
		return s.places[seg.release].op == op && (op == opMutex || op == opRWMutex)
	}
	return seg.site == what || s.places[seg.site].isResource() && s.places[seg.site].op == op
}

func (s *sites) sameRelease(seg *segment, holder siteID) bool {
	return seg.waker != nil && (seg.state == stateLock || seg.state == stateChannel) && seg.release == holder &&
		s.name(holder) != ""
}

func reads(inner []frame) bool {
	return slices.ContainsFunc(inner, func(f frame) bool {
		return strings.HasPrefix(f.Func, "sync.(*RWMutex).R") || f.Func == "sync.(*RWMutex).rUnlockSlow"
	})
}

// writerAt returns where a writer of an RWMutex waits for readers, if seg is such a wait.
func (s *sites) writerAt(seg *segment) siteID {
	if s.places[seg.release].reader {
		return seg.site
	}
	return 0
}

func (p *place) isResource() bool { return p.op == opPool || p.op == opSemaphore }

func opOf(inner []frame) (op string) {
	if op = systemCall(inner); op != "" {
		return op
	}
	own := slices.IndexFunc(inner, func(f frame) bool { return pathRoot(f.Func) != "runtime" })
	if own >= 0 && inner[own].Func == newStream {
		return opStream
	}
	for i := len(inner) - 1; i >= 0; i-- {
		f := inner[i].Func
		if strings.HasPrefix(f, "runtime.cgocallback") { // C has called Go
			op = ""
			continue
		}
		if _, name, ok := strings.Cut(f, cFunction); ok && op == "" {
			op = name
		} else if op == "" {
			op = opByName(ops, f)
		}
		if o := opByName(innerOps, f); o != "" {
			op = o
		}
	}
	return op
}

var systemCallPackages = []string{"syscall.", "golang.org/x/sys/unix.", "internal/syscall/unix.", "modernc.org/libc.X"}

// systemCall returns the name of the innermost wrapper of a system call at which the stack ends, or
// the function that makes the call by its number.
func systemCall(inner []frame) (name string) {
	for i := range inner {
		f := &inner[i]
		wrapper, ok := "", false
		for _, p := range systemCallPackages {
			if wrapper, ok = strings.CutPrefix(f.Func, p); ok {
				break
			}
		}
		switch l := strings.ToLower(wrapper); {
		// otherwise it makes any call, or is a closure
		case ok && !strings.Contains(l, "syscall") && !strings.Contains(l, "."):
			return l
		case ok:
			name = shortFunc(f.Func)
		case f.owner == ownerShim && !strings.Contains(f.Func, cFunction):
		case pathRoot(f.Func) == "runtime", strings.HasPrefix(f.Func, "internal/runtime/"):
		case name != "":
			return shortFunc(f.Func)
		default:
			return ""
		}
	}
	return name
}

func opByName(ops map[string]string, f string) string {
	if op := ops[f]; op != "" {
		return op
	}
	for dot := strings.LastIndexByte(f, '.'); dot > 0; dot = strings.LastIndexByte(f[:dot], '.') {
		if op := ops[f[:dot+1]]; op != "" {
			return op
		}
	}
	return ""
}

const (
	opRetry   = "pause before a retry"
	opLimiter = "rate limiter"
	opSQLite  = "SQLite lock"
)

// A dot at the end stands for all that begin so.
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

var sleepers = []string{"github.com/benbjohnson/clock.", "k8s.io/utils/clock.", "golang.org/x/time/rate."}

// busyHandler ends the name of the function that calls SQLite's busy handler.
const (
	busyHandler   = "InvokeBusyHandler"
	maxBusyFrames = 6
)

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
	for caller+1 < len(inner) && hasAnyPrefix(inner[caller].Func, sleepers) {
		caller++
	}
	if op = opByName(naps, inner[caller].Func); op != "" {
		return op, caller
	}
	return "", at
}

// maySleep reports whether a function may be part of a library's sleep.
func maySleep(f *frame) bool {
	return slices.Contains([]string{"runtime", "time", "context", "syscall"}, pathRoot(f.Func)) || f.owner == ownerShim
}

// SQLite has no queue for its lock. A transaction that finds it taken sleeps and tries again. But
// the trace has the system calls that lock and unlock SQLite's files:
//
//	request's goroutine   │ sleep │ sleep │ sleep ─────┤ commits
//	holder                locks ── anything ── unlocks
//
// The holder is the first goroutine that unlocks after the sleep began and locked before that. One
// that locked later uses another database. The constants end the names of SQLite's functions.
const (
	sqliteLocks   = "BtreeBeginTrans"
	sqliteUnlocks = "pager_end_transaction"
)

type commit struct {
	began int64 // of the lock; 0: before the trace
	at    int64
	g     *goroutine
	site  siteID
}

const maxCommits = 256

func (m *model) commits(g *goroutine, info *stackInfo, t int64) {
	switch {
	case info.has(roleUnlocks):
		c, list := commit{g.locked, t, g, info.site}, m.turns.blamer.commits
		if n := len(list); n > 0 && list[n-1].g == g && list[n-1].began == c.began { // a commit makes several calls
			list[n-1] = c
			return
		}
		m.turns.blamer.commits = append(list, c)
	case info.has(roleLocks):
		g.locked = t
	}
}

func (x *blamer) prune(horizon int64) {
	x.commits = dropUntil(x.commits, func(c *commit) bool { return c.at >= horizon })
}

// transaction returns the commit that ends the sleep of g from a on, or nil.
func (x *blamer) transaction(g *goroutine, a int64) *commit {
	first := searchBack(len(x.commits), func(i int) bool { return x.commits[i].at >= a })
	for i := first; i < min(len(x.commits), first+maxCommits); i++ {
		c := &x.commits[i]
		switch {
		case c.g == g:
			return nil
		case c.began <= a:
			return c
		}
	}
	return nil
}

// busy follows the holder of SQLite's lock while p's goroutine sleeps, and returns how far.
func (x *blamer) busy(p *piece, s *segment, a, b int64) (until int64) {
	if s.waker != nil || s.state != stateSleep && s.state != stateChannel || x.known.places[s.site].op != opSQLite {
		return a
	}
	c := x.transaction(p.g, s.start)
	if c == nil || c.at <= a {
		return a
	}
	until = min(b, c.at)
	ended, cause := *s, p.cause
	ended.waker, ended.release = c.g, c.site
	if cause == CauseRunning {
		cause = CauseSleep
	}
	next := x.known.follow(p, &ended, a, until, cause, true)
	next.hold = c.at - x.napsSince(p.g, s, c.began)
	if p.cause == CauseRunning {
		next.inside = s.inside
	}
	x.todo = append(x.todo, next)
	return until
}

// napsSince returns the start of s's run of sleeps, not before after.
func (x *blamer) napsSince(g *goroutine, s *segment, after int64) int64 {
	since := s.start
	for i := g.at(s.start); i >= 0 && g.segments[i].start >= after; i-- {
		if q := &g.segments[i]; q.site == s.site && q.state == s.state {
			since = q.start
		}
	}
	return since
}
