package verdict

import (
	"slices"
	"strings"

	"evenkeel.dev/reqtrace"
)

// GuidePath is the document of this repository that has a row for each kind of cause: what it looks like in code and in
// a report, and what usually mends it.
const GuidePath = "docs/guides/explain.md"

// kind is a row of the guide's table of causes.
type kind struct {
	anchor string // in GuidePath
	mends  string // what usually mends it, as the row says it
}

// kindsByCause are the rows of causes; kindsByOp, of what is waited for, come before these.
var kindsByCause = [...]kind{
	reqtrace.CauseUnknown:      {"unknown", "trace for longer, or with a newer Go"},
	reqtrace.CauseRunning:      {"running", "take a CPU profile of the same load, and do less in the functions that it names"},
	reqtrace.CauseAssistMark:   {"assist", "allocate less at the named place, or let the heap grow further: a higher GOGC, bounded by GOMEMLIMIT"},
	reqtrace.CauseAssistWait:   {"assist", "allocate less at the named place, or let the heap grow further: a higher GOGC, bounded by GOMEMLIMIT"},
	reqtrace.CauseSweep:        {"sweep", "allocate less at the named place"},
	reqtrace.CauseStopped:      {"stopped", "cut into pieces what cannot be preempted, and stop the world less often"},
	reqtrace.CauseRunqueueGC:   {"runqueue-gc", "collect less often: allocate less, a higher GOGC, or gcgate"},
	reqtrace.CauseRunqueueBusy: {"runqueue", "bound how many goroutines compute at once, or give it more processors"},
	reqtrace.CauseRunqueueIdle: {"runqueue-idle", "nothing, as a rule; where it is much, see whether the machine has processors to spare"},
	reqtrace.CauseSyscall:      {"syscall", "call it less often, or outside of requests"},
	reqtrace.CauseCgo:          {"cgo", "do less in C a request, or bound how many calls run at once"},
	reqtrace.CauseNetwork:      {"network", "measure the upstream; give it a deadline; ask in parallel, less often, or ahead"},
	reqtrace.CauseLock:         {"lock", "hold it for less: no I/O and no long computing under a lock"},
	reqtrace.CauseChannel:      {"channel", "more workers, shorter jobs, or a bound on the queue that refuses early"},
	reqtrace.CauseSleep:        {"sleep", "wait for the event itself, not for time to pass"},
	reqtrace.CauseMachine:      {"machine", "nothing in the program: look at the hypervisor, the CPU quota, swapping and the neighbours"},
}

// kindsByOp are the rows of what was asked for ([reqtrace.Blame.Op]), whatever the cause of the wait.
var kindsByOp = map[string]kind{
	"mutex":                           {"mutex", "hold it for less: no I/O and no long computing under the lock; split it by key"},
	"RWMutex":                         {"rwmutex", "keep writers short; swap a whole new value with atomic.Pointer"},
	"Once":                            {"once", "do it at the start, before the first request"},
	"condition":                       {"condition", "signal sooner, or do less before it is signalled"},
	"group of goroutines":             {"group", "start fewer pieces of work, or answer without the slowest of them"},
	"semaphore":                       {"semaphore", "a higher limit, or less time while it is held"},
	"connection pool":                 {"pool", "a larger pool (SetMaxOpenConns), or hold each connection for less: close rows, commit sooner"},
	"singleflight":                    {"singleflight", "refresh ahead of expiry, so that no request waits for the call"},
	"rate limiter":                    {"rate-limiter", "a higher rate or burst, or refuse at once with Allow in place of Wait"},
	"sleep":                           {"sleep", "wait for the event itself, not for time to pass"},
	"pause before a retry":            {"sleep", "wait for the event itself, not for time to pass"},
	"TLS handshake":                   {"dial", "keep connections open: read bodies to their end, raise MaxIdleConnsPerHost"},
	"client, which reads the answer":  {"client", "ReadTimeout and WriteTimeout; a proxy that buffers"},
	"client, which sends the request": {"client", "ReadTimeout and WriteTimeout; a proxy that buffers"},
	"name server":                     {"dns", "keep connections, so that names are not looked up for each; a cache of names"},
	"new connection":                  {"dial", "keep connections open: read bodies to their end, raise MaxIdleConnsPerHost"},
	"connection to a server":          {"dial", "keep connections open: read bodies to their end, raise MaxIdleConnsPerHost"},
}

// syncs are the system calls that wait for a disk; files are others on files.
var (
	syncs    = []string{"fsync", "fdatasync", "sync", "syncfs", "msync", "sync_file_range"}
	files    = []string{"read", "pread", "pread64", "preadv", "write", "pwrite", "pwrite64", "pwritev", "open", "openat", "stat", "fstat", "lstat", "fstatat", "newfstatat", "getdents", "getdents64", "readdirent", "unlink", "unlinkat", "rename", "renameat", "mkdir", "mkdirat", "ftruncate", "truncate", "mmap"}
	syncKind = kind{"fsync", "let one sync serve many requests (group commit), or answer before it"}
	fileKind = kind{"file", "keep in memory what is read again, and write outside of requests"}
)

// kindOf returns the row of a cause, where op is what was asked for.
func kindOf(c reqtrace.Cause, op string) kind {
	switch c {
	case reqtrace.CauseLock, reqtrace.CauseChannel, reqtrace.CauseNetwork, reqtrace.CauseSleep:
		if k, ok := kindsByOp[op]; ok {
			return k
		}
	case reqtrace.CauseSyscall:
		switch op = strings.ToLower(op); {
		case slices.Contains(syncs, op):
			return syncKind
		case slices.Contains(files, op):
			return fileKind
		}
	}
	if int(c) < len(kindsByCause) {
		return kindsByCause[c]
	}
	return kindsByCause[reqtrace.CauseUnknown]
}
