package verdict

import (
	"cmp"
	"strings"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// opWords are the words for what is waited for, if they are not "a" and its name.
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

func waitingFor(op string) string { return "waiting for " + cmp.Or(opWords[op], "a "+op) }

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
		return waitingFor(op)
	}
	return Phrase(c)
}

// holds is the verb for what a holder does with what is waited for.
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

// doing says what a holder does: "computing", "waiting for the network in http.Get (http.go:47)".
// It leaves out a place in the holder's own function.
func doing(b *reqtrace.Blame) string {
	if b.Doing == reqtrace.CauseUnknown {
		return ""
	}
	t := asked(b.Doing, b.DoingOp)
	if b.Doing == reqtrace.CauseRunning {
		t = "computing"
	}
	if b.DoingAt != "" && functionOf(b.DoingAt) != functionOf(b.Holder) {
		t += " in " + b.DoingAt
	}
	return t
}

// holderAt returns the holder, with the line at which it does something if that is in its
// function.
func holderAt(b *reqtrace.Blame) string {
	if b.DoingAt != "" && functionOf(b.DoingAt) == functionOf(b.Holder) {
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

// Words says what took a time, who held what was waited for, and where: "waiting for a mutex that
// main.refresh (refresh.go:29) holds while waiting for the network, in main.look (look.go:12)".
func Words(b *reqtrace.Blame) string {
	t := asked(b.Cause, b.Op)
	switch w := while(b); {
	case b.Cause == reqtrace.CauseRunqueueBusy && b.Holder == "":
		return t
	case b.Cause == reqtrace.CauseRunqueueBusy:
		return t + ", such as " + b.Holder
	case b.Cause == reqtrace.CauseStoppedOther:
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

// Where says where a time was spent, what the request waited for there, and who held it.
func Where(b *reqtrace.Blame) string { return strings.Join(whereParts(b), ", ") }

func whereParts(b *reqtrace.Blame) []string {
	switch b.Cause {
	case reqtrace.CauseRunqueueBusy:
		return []string{cmp.Or(b.Holder, "goroutines without a name")}
	case reqtrace.CauseStoppedOther:
		return []string{b.Holder + " " + stopsFor(b.Op)}
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
		parts = append(parts, heldBy(b.Cause, b.Op)+" "+holderAt(b)+w)
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
	if b.Handler != "" && functionOf(b.Handler) != functionOf(b.Site) {
		parts = append(parts, "called from "+b.Handler)
	}
	return parts
}

// heldBy is holds in the passive.
func heldBy(c reqtrace.Cause, op string) string {
	switch holds(c, op) {
	case "runs":
		return "run by"
	case "signals":
		return "signalled by"
	case "ends last in":
		return "ended last by"
	case "serves":
		return "served by"
	}
	return "held by"
}
