package verdict

import (
	"slices"
	"strings"

	"evenkeel.dev/reqtrace"
)

// guidePath is the document that has a row for each kind of cause.
const guidePath = "docs/explain.md"

// kind is a row of the guide's table of causes.
type kind struct {
	anchor string // in guidePath
	mends  string // what usually mends it
}

// kindsByCause has a row for each cause. Those of kindsByOp come first.
var kindsByCause = [...]kind{
	reqtrace.CauseUnknown:      {"unknown", "trace for longer, or with a newer Go"},
	reqtrace.CauseRunning:      {"running", "do less work per request"},
	reqtrace.CauseAssistMark:   {"assist", "allocate less"},
	reqtrace.CauseAssistWait:   {"assist", "allocate less"},
	reqtrace.CauseSweep:        {"sweep", "allocate less"},
	reqtrace.CauseStopped:      {"stopped", "stop the world less often"},
	reqtrace.CauseRunqueueGC:   {"runqueue-gc", "allocate less, or raise GOGC and bound the heap by GOMEMLIMIT"},
	reqtrace.CauseRunqueueBusy: {"runqueue", "bound how many goroutines compute at once"},
	reqtrace.CauseRunqueueIdle: {"runqueue-idle", "give the machine CPUs to spare"},
	reqtrace.CauseSyscall:      {"syscall", "make the call outside of requests"},
	reqtrace.CauseCgo:          {"cgo", "bound how many of these calls run at once"},
	reqtrace.CauseNetwork:      {"network", "give the call a deadline, and measure the service that answers it"},
	reqtrace.CauseLock:         {"lock", "move I/O and long computing out of the lock"},
	reqtrace.CauseChannel:      {"channel", "start more workers, or make the job shorter"},
	reqtrace.CauseSleep:        {"sleep", "wait for the event itself instead of a time"},
	reqtrace.CauseStoppedOther: {"stopped-other", "stop the world outside of traffic"},
	reqtrace.CauseMachine:      {"machine", "look at the hypervisor, the CPU quota, swapping and the neighbours"},
	reqtrace.CauseThrottled:    {"throttled", "raise the CPU quota, or use less CPU at once"},
	reqtrace.CauseDescheduled:  {"descheduled", "give the service CPUs of its own, or move the other processes away"},
}

// kindsByOp has rows by [reqtrace.Blame.Op], whatever the cause of the wait.
var kindsByOp = map[string]kind{
	"mutex": {"mutex", "move I/O and long computing out of the lock"},
	"RWMutex": {
		"rwmutex",
		"prepare the new value without the lock, and swap it in with atomic.Pointer",
	},
	"Once":                {"once", "do it at the start, before the first request"},
	"condition":           {"condition", "signal before the slow work"},
	"group of goroutines": {"group", "answer without the slowest piece of work"},
	"semaphore":           {"semaphore", "release it before the slow work, or raise its limit"},
	"connection pool":     {"pool", "close rows and commit before other work, or raise SetMaxOpenConns"},
	"singleflight": {
		"singleflight",
		"refresh ahead of expiry, so that no request waits for the call",
	},
	"gRPC stream": {
		"grpc-stream",
		"raise MaxConcurrentStreams of the server, or spread calls over more connections",
	},
	"rate limiter":                    {"rate-limiter", "raise the rate or the burst, or refuse at once with Allow"},
	"sleep":                           {"sleep", "wait for the event itself instead of a time"},
	"pause before a retry":            {"retry", "find out why the first attempt fails, or pause for less"},
	"SQLite lock":                     {"sqlite", "do other work before the transaction begins or after it commits"},
	"TLS handshake":                   dialKind,
	"client, which reads the answer":  clientKind,
	"client, which sends the request": clientKind,
	"name server":                     {"dns", "keep connections open, so that names are not looked up for each"},
	"new connection":                  dialKind,
	"connection to a server":          dialKind,
}

var (
	dialKind = kind{
		"dial", "read bodies to their end and raise MaxIdleConnsPerHost, so that connections are used again",
	}
	clientKind = kind{"client", "set ReadTimeout and WriteTimeout, or put a proxy that buffers in front"}
)

var (
	syncs = []string{"fsync", "fdatasync", "sync", "syncfs", "msync", "sync_file_range"}
	files = []string{
		"read", "pread", "pread64", "preadv", "write", "pwrite", "pwrite64", "pwritev", "open",
		"openat", "stat", "fstat", "lstat", "fstatat", "newfstatat", "getdents", "getdents64",
		"readdirent", "unlink", "unlinkat", "rename", "renameat", "mkdir", "mkdirat", "ftruncate", "truncate", "mmap",
	}
	syncKind = kind{"fsync", "let one sync serve many requests (group commit)"}
	fileKind = kind{"file", "keep in memory what is read again, and write outside of requests"}
)

// stopKinds has rows by what the world was stopped for.
var stopKinds = map[string]kind{
	"all goroutines stack trace": {
		"stop-stacks",
		"write the goroutine profile instead (debug=1), which stops the world for a moment only",
	},
	"read mem stats": {"stop-memstats", "read runtime/metrics instead of runtime.ReadMemStats"},
	"GOMAXPROCS":     {"stop-gomaxprocs", "set GOMAXPROCS once, before the first request"},
}

// readerKind is for an RWMutex that a reader holds while a writer waits.
var readerKind = kind{"rwmutex-reader", "copy what you need under RLock, and do the slow work after RUnlock"}

// libraryKind is for a library's sleep of unknown purpose.
var libraryKind = kind{"library-sleep", "shorten the library's pause by its options, or call it outside of requests"}

func (n *NamedCause) kind() kind {
	switch {
	case n.Writer != "":
		return readerKind
	case n.Cause == reqtrace.CauseSleep && n.Inside != "" && (n.Op == "" || n.Op == "sleep"):
		return libraryKind
	}
	return kindOf(n.Cause, n.Op)
}

func kindOf(c reqtrace.Cause, op string) kind {
	switch c {
	case reqtrace.CauseLock, reqtrace.CauseChannel, reqtrace.CauseNetwork, reqtrace.CauseSleep:
		if k, ok := kindsByOp[op]; ok {
			return k
		}
	case reqtrace.CauseStoppedOther:
		if k, ok := stopKinds[op]; ok {
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
