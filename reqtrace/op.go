package reqtrace

import (
	"slices"
	"strings"
)

// Resources are held, one or some at a time. A wait for one is a wait for a holder, as with a lock.
const (
	opPool      = "connection pool"
	opSemaphore = "semaphore"
)

// opStream is a gRPC call's wait for a free stream, in newStream's own body. The server limits the
// calls of a connection.
const (
	opStream  = "gRPC stream"
	newStream = "google.golang.org/grpc/internal/transport.(*http2Client).NewStream"
)

const (
	opMutex   = "mutex"
	opRWMutex = "RWMutex"
)

// ops says what functions wait for. A name that ends in a dot stands for all that begin with it.
// The outermost on a stack counts, because a semaphore has a mutex inside.
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

// innerOps counts even within those of ops. A pool without a free connection opens one.
var innerOps = map[string]string{
	"net.(*Resolver).":                    "name server",
	"net.(*Dialer).":                      "new connection",
	"crypto/tls.(*Conn).HandshakeContext": "TLS handshake",
}

// hasOneHolder reports whether one goroutine at a time holds what seg waits for. A group of
// goroutines, a condition and a Once have none.
func (s *sites) hasOneHolder(seg *segment) bool {
	p := &s.places[seg.site]
	return p.resource || seg.state == stateChannel && seg.held || p.op == opMutex || p.op == opRWMutex
}

// sameHeld reports whether seg waits for the same thing as a wait at the place what: at the same
// place, or for the same kind of resource. Of a wait from before the trace only the waker may be
// known (runtime/traceruntime.go, emitUnblockStatus). Then it was for a mutex if a mutex was
// released.
func (s *sites) sameHeld(seg *segment, what siteID) bool {
	op := s.places[what].op
	switch {
	case seg.waker == nil || seg.state != stateLock && seg.state != stateChannel && seg.state != stateUnknown:
		return false
	case seg.state == stateUnknown && seg.site == 0:
		return s.places[seg.release].op == op && (op == opMutex || op == opRWMutex)
	}
	return seg.site == what || s.places[seg.site].resource && s.places[seg.site].op == op
}

// sameRelease reports whether what seg waited for was released where the holder released it. A lock
// may be taken at several places.
func (s *sites) sameRelease(seg *segment, holder siteID) bool {
	return seg.waker != nil && (seg.state == stateLock || seg.state == stateChannel) && seg.release == holder &&
		s.name(holder) != ""
}

func reads(inner []frame) bool {
	return slices.ContainsFunc(inner, func(f frame) bool {
		return strings.HasPrefix(f.Func, "sync.(*RWMutex).R") || f.Func == "sync.(*RWMutex).rUnlockSlow"
	})
}

// writerAt returns where a writer of an RWMutex waits for readers, if seg is such a wait. New
// readers wait behind it.
func (s *sites) writerAt(seg *segment) siteID {
	if s.places[seg.release].reader {
		return seg.site
	}
	return 0
}

func isResource(op string) bool { return op == opPool || op == opSemaphore }

// opOf says what the frames inward of a place ask for: a system call, a function of C, or a thing.
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

// systemCall returns the name of the innermost wrapper of a system call, at which the stack ends,
// or the function that makes the call by its number.
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
		// otherwise it is about calls in general, or a closure
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
