package verdict

import (
	"cmp"
	"slices"
	"strings"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

type causeWord struct {
	phrase string
	letter byte
	ansi   string
}

var causeWords = [...]causeWord{
	reqtrace.CauseUnknown:      {"unknown", '?', "2"},
	reqtrace.CauseRunning:      {"running on a CPU", 'r', "90"},
	reqtrace.CauseAssistMark:   {"marking for the GC (assist)", 'A', "31"},
	reqtrace.CauseAssistWait:   {"waiting for the GC (assist)", 'a', "91"},
	reqtrace.CauseSweep:        {"sweeping for the GC", 'w', "31"},
	reqtrace.CauseStopped:      {"a stop of the world by the GC", 'X', "1;31"},
	reqtrace.CauseRunqueueGC:   {"waiting for a CPU (GC workers ran)", 'G', "35"},
	reqtrace.CauseRunqueueBusy: {"waiting for a CPU (other goroutines ran)", 'Q', "33"},
	reqtrace.CauseRunqueueIdle: {"waiting for a CPU (one was idle)", 'q', "93"},
	reqtrace.CauseSyscall:      {"in a system call", 'S', "32"},
	reqtrace.CauseCgo:          {"in C (cgo)", 'c', "92"},
	reqtrace.CauseNetwork:      {"waiting for the network", 'N', "36"},
	reqtrace.CauseLock:         {"waiting for a lock", 'L', "34"},
	reqtrace.CauseChannel:      {"waiting for a channel", 'C', "94"},
	reqtrace.CauseSleep:        {"waiting for a timer", 'z', "96"},
	reqtrace.CauseMachine:      {"the machine stood still", 'M', "2;31"},
	reqtrace.CauseStoppedOther: {"a stop of the world, not by the GC", 'H', "95"},
	reqtrace.CauseThrottled:    {"waiting for the CPU quota (throttled)", 'T', "1;33"},
	reqtrace.CauseDescheduled:  {"waiting for a CPU (other processes ran)", 'D', "2;33"},
}

func Phrase(c reqtrace.Cause) string { return causeWords[c].phrase }

// causeOrder is the order of the causes in bars and legends.
var causeOrder = []reqtrace.Cause{
	reqtrace.CauseRunning, reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep,
	reqtrace.CauseStopped, reqtrace.CauseRunqueueGC,
	reqtrace.CauseStoppedOther, reqtrace.CauseThrottled, reqtrace.CauseDescheduled, reqtrace.CauseRunqueueBusy,
	reqtrace.CauseRunqueueIdle, reqtrace.CauseLock, reqtrace.CauseChannel, reqtrace.CauseNetwork, reqtrace.CauseSyscall,
	reqtrace.CauseCgo, reqtrace.CauseSleep, reqtrace.CauseMachine, reqtrace.CauseUnknown,
}

// Causes returns the causes with at least this share (0 to 1) of one of these parts. Without parts
// it returns all.
func Causes(share float64, of ...reqtrace.Parts) []reqtrace.Cause {
	return slices.DeleteFunc(slices.Clone(causeOrder), func(c reqtrace.Cause) bool {
		return len(of) > 0 && !slices.ContainsFunc(of, func(p reqtrace.Parts) bool {
			return p.Of(c) > 0 && p.Share(c) >= share
		})
	})
}

// Group is causes that belong together, as in evenkeel explain -fail-if 'gc>30%'.
type Group struct {
	Name   string
	Causes []reqtrace.Cause
}

var gcCauses = []reqtrace.Cause{
	reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep, reqtrace.CauseStopped,
	reqtrace.CauseRunqueueGC,
}

var Groups = []Group{
	{"gc", gcCauses},
	{"assists", []reqtrace.Cause{reqtrace.CauseAssistMark, reqtrace.CauseAssistWait}},
	{"queue", []reqtrace.Cause{reqtrace.CauseRunqueueGC, reqtrace.CauseRunqueueBusy, reqtrace.CauseRunqueueIdle}},
}

var Limits = []string{
	"Waits for a CPU in the kernel, if its counts were not read. They look like running on a CPU.",
	"Page faults, and what C or the kernel does inside a call.",
	"A request's time on the network and in the socket, before its goroutine is woken.",
	"The address of a lock. A wait is named by the place that waits and the function that unlocked.",
}

// opWords are used in place of "a" and the name.
var opWords = map[string]string{
	"RWMutex":                         "an RWMutex",
	"Once":                            "a sync.Once",
	"condition":                       "a sync.Cond",
	"SQLite lock":                     "an SQLite lock",
	"connection pool":                 "a connection from a pool",
	"singleflight":                    "a singleflight call",
	"gRPC stream":                     "a free stream of a gRPC connection",
	"client, which reads the answer":  "the client, which reads the answer",
	"client, which sends the request": "the client, which sends the request",
}

// asked says what a request waits for or does: "waiting for a mutex", "in the system call fsync".
func asked(c reqtrace.Cause, op string) string {
	switch {
	case op == "":
		return Phrase(c)
	// the name is the function that makes the call
	case c == reqtrace.CauseSyscall && strings.Contains(op, "."):
		return "in a system call by " + op
	case c == reqtrace.CauseSyscall:
		return "in the system call " + op
	case c == reqtrace.CauseCgo:
		return "in C (" + op + ")"
	case c == reqtrace.CauseSleep && op == "sleep":
		return "sleeping"
	case c == reqtrace.CauseSleep && op == "pause before a retry":
		return "pausing before a retry"
	case waits(c), c == reqtrace.CauseNetwork, c == reqtrace.CauseSleep:
		return "waiting for " + cmp.Or(opWords[op], "a "+op)
	}
	return Phrase(c)
}

func holds(c reqtrace.Cause, op string) string {
	switch {
	case op == "singleflight", op == "Once":
		return "runs"
	case op == "condition":
		return "signals"
	case op == "group of goroutines":
		return "ends last in"
	case c == reqtrace.CauseChannel && op != "connection pool" && op != "semaphore":
		return "serves"
	}
	return "holds"
}

var passive = map[string]string{
	"runs": "run by", "signals": "signalled by", "ends last in": "ended last by", "serves": "served by",
	"holds": "held by",
}

var stops = map[string]string{
	"all goroutines stack trace": "takes a stack trace of all goroutines",
	"read mem stats":             "calls runtime.ReadMemStats",
	"goroutine profile":          "takes a goroutine profile",
	"goroutine profile cleanup":  "takes a goroutine profile",
	"GOMAXPROCS":                 "sets GOMAXPROCS",
	"start trace":                "starts a trace",
	"write heap dump":            "writes a heap dump",
	"AllThreadsSyscall":          "makes a system call on all threads",
}

func stopsFor(op string) string { return cmp.Or(stops[op], "stops the world ("+op+")") }

// doing says what a holder does: "waiting for the network in http.Get (http.go:47)". It leaves out
// a place in the holder's own function.
func doing(b *reqtrace.Blame) string {
	if b.Doing == reqtrace.CauseUnknown {
		return ""
	}
	t := asked(b.Doing, b.DoingOp)
	if b.Doing == reqtrace.CauseRunning {
		t = "computing"
	}
	if b.DoingAt != "" && Function(b.DoingAt) != Function(b.Holder) {
		t += " in " + b.DoingAt
	}
	return t
}

// holderAt returns the holder, at the line where it does something if that is known.
func holderAt(b *reqtrace.Blame) string {
	if b.DoingAt != "" && Function(b.DoingAt) == Function(b.Holder) {
		return b.DoingAt
	}
	return b.Holder
}

func while(b *reqtrace.Blame) string {
	t := doing(b)
	if t == "" {
		return ""
	}
	if b.Longest > 0 {
		t += ", up to " + textfmt.Duration(b.Longest) + " at a time"
	}
	return " while " + t
}

// Words says what took a time: "waiting for a mutex that main.refresh (refresh.go:29) holds while
// waiting for the network, in main.look (look.go:12)".
func Words(b *reqtrace.Blame) string {
	t := asked(b.Cause, b.Op)
	switch w := while(b); {
	case b.Cause == reqtrace.CauseRunqueueBusy && b.Holder == "":
		return t
	case b.Cause == reqtrace.CauseRunqueueBusy:
		return t + ", such as " + b.Holder
	case b.Cause == reqtrace.CauseStoppedOther && b.Holder != "":
		return t + ", by " + b.Holder
	case b.Writer != "":
		t += " that reader " + holderAt(b) + " holds" + w + ", behind writer " + b.Writer
	case b.Holder != "":
		t += " that " + holderAt(b) + " " + holds(b.Cause, b.Op) + w
	case w != "":
		t += strings.Replace(w, " while ", " whose holder is ", 1)
	}
	if b.Site == "" {
		return t
	}
	if b.Holder != "" || b.Doing != reqtrace.CauseUnknown {
		t += ","
	}
	return t + " in " + b.Site
}

// Where says where a time was spent, and who held what the request waited for.
func Where(b *reqtrace.Blame) string { return strings.Join(whereParts(b), ", ") }

func whereParts(b *reqtrace.Blame) []string {
	switch b.Cause {
	case reqtrace.CauseRunqueueBusy:
		return []string{cmp.Or(b.Holder, "goroutines without a name")}
	case reqtrace.CauseStoppedOther:
		return []string{cmp.Or(b.Holder, "the program") + " " + stopsFor(b.Op)}
	}
	t := cmp.Or(b.Site, "outside of the program's code")
	if b.Op != "" {
		t += ", " + b.Op
	}
	parts := []string{t}
	at := *b
	at.Longest = 0
	switch w := while(&at); {
	case b.Holder != "":
		parts = append(parts, passive[holds(b.Cause, b.Op)]+" "+holderAt(b)+w)
	case w != "":
		parts = append(parts, strings.Replace(w, " while ", "its holder is ", 1))
	}
	if b.Writer != "" {
		parts = append(parts, "behind writer "+b.Writer+", which waits for that reader")
	}
	switch {
	case b.Inside == "":
	case b.Cause == reqtrace.CauseSleep:
		parts = append(parts, "sleeps in "+b.Inside)
	default:
		parts = append(parts, "its holder sleeps in "+b.Inside)
	}
	if b.Handler != "" && Function(b.Handler) != Function(b.Site) {
		parts = append(parts, "called from "+b.Handler)
	}
	return parts
}

const guidePath = "docs/explain.md"

type kind struct {
	anchor string
	mends  string
}

// kindsByCause applies if kindsByOp has no row.
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

var kindsByOp = map[string]kind{
	"mutex":   {"mutex", "move I/O and long computing out of the lock"},
	"RWMutex": {"rwmutex", "prepare the new value without the lock, and swap it in with atomic.Pointer"},

	"Once":                {"once", "do it at the start, before the first request"},
	"condition":           {"condition", "signal before the slow work"},
	"group of goroutines": {"group", "answer without the slowest piece of work"},
	"semaphore":           {"semaphore", "release it before the slow work, or raise its limit"},
	"connection pool":     {"pool", "close rows and commit before other work, or raise SetMaxOpenConns"},
	"singleflight":        {"singleflight", "refresh ahead of expiry, so that no request waits for the call"},
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

var libraryKind = kind{"library-sleep", "shorten the library's pause by its options, or call it outside of requests"}

func (n *NamedCause) kind() kind {
	switch {
	case n.Writer != "":
		return readerKind
	case n.Cause == reqtrace.CauseSleep && n.Inside != "" && (n.Op == "" || n.Op == "sleep"):
		return libraryKind
	}
	c, op := n.Cause, n.Op
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
	return kindsByCause[c]
}
