package reqtrace

import (
	"slices"
	"strings"
)

// resources are what goroutines hold, one or some at a time: who waits for one waits for a holder
// to let go, as with a lock.
const (
	opPool      = "connection pool"
	opSemaphore = "semaphore"
)

// opStream is a gRPC call's wait for a free stream: the connection has as many calls as the server
// allows.
const opStream = "gRPC stream"

// What goroutines hold by package sync.
const (
	opMutex   = "mutex"
	opRWMutex = "RWMutex"
)

// ops are functions that say what is waited for, whoever calls them; a name that ends in a dot stands for all that
// begin with it. Of several on a stack the outermost counts: a semaphore has a mutex inside.
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

// innerOps are what is waited for whatever it is done for: a pool that has no connection left opens one.
var innerOps = map[string]string{
	"net.(*Resolver).":                    "name server",
	"net.(*Dialer).":                      "new connection",
	"crypto/tls.(*Conn).HandshakeContext": "TLS handshake",
}

// ownOps are functions whose own waits say what is waited for. What they call may wait for
// something else.
var ownOps = map[string]string{
	"google.golang.org/grpc/internal/transport.(*http2Client).NewStream": opStream,
}

// hasOneHolder reports whether what seg waits for is had by who took it, until that one lets it go.
// What is done for whoever waits (a group of goroutines, a condition, a Once) is none.
func (s *sites) hasOneHolder(seg *segment) bool {
	p := &s.places[seg.site]
	return p.resource || seg.state == stateChannel && seg.held || p.op == opMutex || p.op == opRWMutex
}

// sameHeld reports whether seg waits for the same thing as a wait at what: for what only one place
// waits for, or a pool's, which many do. Of a wait since before the trace (unknown) its stack is
// told, and who ended it; of one that ends in the trace's first generation, the latter alone
// (runtime/traceruntime.go, emitUnblockStatus): a mutex was waited for where a mutex was let go.
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

// sameRelease reports whether what seg waited for was let go at the line where holder let go, so
// that it is most likely the same thing: who takes it at several places waits at several.
func (s *sites) sameRelease(seg *segment, holder siteID) bool {
	return seg.waker != nil && (seg.state == stateLock || seg.state == stateChannel) && seg.release == holder &&
		s.name(holder) != ""
}

// reads reports whether an RWMutex is taken or released for reading.
func reads(inner []frame) bool {
	return slices.ContainsFunc(inner, func(f frame) bool {
		return strings.HasPrefix(f.Func, "sync.(*RWMutex).R") || f.Func == "sync.(*RWMutex).rUnlockSlow"
	})
}

// writerAt returns where a writer waits for the readers of an RWMutex that came before it, if seg
// is such a wait. New readers wait behind that writer.
func (s *sites) writerAt(seg *segment) siteID {
	if s.places[seg.release].reader {
		return seg.site
	}
	return 0
}

// isResource reports whether what is waited for is held by others, and not made by them.
func isResource(op string) bool { return op == opPool || op == opSemaphore }

// opOf says what the frames inward of a place ask for: C's function, a system call, or what is waited for.
func opOf(inner []frame) (op string) {
	if op = systemCall(inner); op != "" {
		return op
	}
	if i := slices.IndexFunc(inner, func(f frame) bool { return pathRoot(f.Func) != "runtime" }); i >= 0 {
		if op = ownOps[inner[i].Func]; op != "" {
			return op
		}
	}
	for i := len(inner) - 1; i >= 0; i-- {
		f := inner[i].Func
		if strings.HasPrefix(f, "runtime.cgocallback") { // what lies outward is what called C, which has called Go
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

// systemCallPackages have a wrapper named after each system call.
var systemCallPackages = []string{"syscall.", "golang.org/x/sys/unix.", "internal/syscall/unix.", "modernc.org/libc.X"}

// systemCall returns the name of the system call at which a stack ends: that of the innermost
// wrapper with a name. Without such a wrapper it is the function that makes the call by its number.
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
		// else it is about calls in general, or a closure
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
