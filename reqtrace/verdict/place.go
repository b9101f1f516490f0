package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// Place is where in the code the slowest 1% wait or assist the collector, and who had what they wait for: what that
// takes of a request, on average.
type Place struct {
	reqtrace.Blame               // Time is of the slowest 1%
	Median         time.Duration // of the median request
	Excess         time.Duration // Time less Median
}

func places(r *reqtrace.Report) []Place {
	median := map[reqtrace.Blame]time.Duration{}
	for _, b := range r.Median.Sites {
		median[identity(b)] += b.Time
	}
	var list []Place
	for _, b := range r.Tail.Sites {
		m := median[identity(b)]
		if b.Time == 0 && m == 0 { // less than a nanosecond of a request
			continue
		}
		list = append(list, Place{Blame: b, Median: m, Excess: b.Time - m})
	}
	slices.SortStableFunc(list, func(a, b Place) int { return cmp.Compare(b.Excess, a.Excess) })
	return list
}

// identity returns b without its times.
func identity(b reqtrace.Blame) reqtrace.Blame {
	b.Time, b.Longest = 0, 0
	return b
}

// locate says of a cause where most of it is, and who had what is waited for: each where that is at least
// worthSite of it.
func locate(n *NamedCause, list []Place) {
	all := list
	n.Site, list = most(list, n.Excess, func(p *Place) string { return p.Site }, nil)
	if n.Site == "" {
		list = all
	}
	n.Call, _ = most(list, n.Excess, func(p *Place) string { return p.Call }, nil)
	n.Op, _ = most(list, n.Excess, func(p *Place) string { return p.Op }, nil)
	n.Handler, _ = most(list, n.Excess, func(p *Place) string { return p.Handler }, functionOf)

	var held []Place
	n.Holder, held = most(all, n.Excess, func(p *Place) string { return p.Holder }, functionOf)
	if n.Holder == "" {
		held = all
	}
	of := n.Excess
	if n.Holder != "" {
		of = excessOf(held)
	}
	doing, same := most(held, of, func(p *Place) string {
		if p.Doing == reqtrace.CauseUnknown {
			return ""
		}
		return p.Doing.String()
	}, nil)
	if doing == "" && n.Cause != reqtrace.CauseRunqueueBusy {
		return
	}
	if doing != "" {
		n.Doing, held = same[0].Doing, same
	}
	n.DoingAt, _ = most(held, of, func(p *Place) string { return p.DoingAt }, functionOf)
	n.DoingOp, _ = most(held, of, func(p *Place) string { return p.DoingOp }, nil)
	for i := range held {
		n.Longest = max(n.Longest, held[i].Longest)
	}
}

// most returns what at least worthSite of an excess has in common, as the largest of those that have it says it, and
// which these are. "" is nothing in common; same says what counts as the same, nil: what is equal.
func most(list []Place, excess time.Duration, of func(*Place) string, same func(string) string) (string, []Place) {
	sums, best := map[string]time.Duration{}, ""
	key := func(p *Place) string {
		if same == nil {
			return of(p)
		}
		return same(of(p))
	}
	for i := range list {
		k := key(&list[i])
		if sums[k] += list[i].Excess; k != "" && (best == "" || sums[k] > sums[best]) {
			best = k
		}
	}
	if best == "" || float64(sums[best]) < worthSite*float64(excess) {
		return "", nil
	}
	var common []Place
	for i := range list {
		if key(&list[i]) == best {
			common = append(common, list[i])
		}
	}
	return of(&common[0]), common
}

func excessOf(list []Place) (sum time.Duration) {
	for i := range list {
		sum += list[i].Excess
	}
	return sum
}

// functionOf returns the function of a place: "main.look" of "main.look (look.go:12)".
func functionOf(site string) string {
	f, _, _ := strings.Cut(site, " (")
	return f
}

// lineOf returns the rest: "look.go:12".
func lineOf(site string) string {
	_, line, _ := strings.Cut(site, " (")
	return strings.TrimSuffix(line, ")")
}

// asked says in words what a request waits for or does: of a mutex "waiting for the mutex".
func asked(c reqtrace.Cause, op string) string {
	switch {
	case op == "":
		return Phrase(c)
	case c == reqtrace.CauseSyscall:
		return "system call " + op
	case c == reqtrace.CauseCgo:
		return "C (" + op + ")"
	case c == reqtrace.CauseSleep && op == "sleep":
		return "sleeping"
	case c == reqtrace.CauseSleep && op == "pause before a retry":
		return "in a " + op
	case c == reqtrace.CauseLock, c == reqtrace.CauseChannel, c == reqtrace.CauseNetwork, c == reqtrace.CauseSleep:
		return "waiting for the " + op
	}
	return Phrase(c)
}

// hadBy says the same of what is waited for: run by its holder.
func hadBy(c reqtrace.Cause, op string) string {
	return strings.Replace(had(c, op), "ran", "run", 1) + " by "
}

// had says what the holder of something did to have it waited for.
func had(c reqtrace.Cause, op string) string {
	switch {
	case op == "singleflight", op == "Once":
		return "ran"
	case op == "condition":
		return "signalled"
	case op == "group of goroutines":
		return "ended last"
	case c == reqtrace.CauseChannel && op != "connection pool" && op != "semaphore":
		return "served"
	}
	return "held"
}

// while says what the holder did meanwhile: " while it waited for the network (refresh.go:29)"; "" where that is not known.
func while(b *reqtrace.Blame) string {
	var t string
	switch op := b.DoingOp; {
	case b.Doing == reqtrace.CauseUnknown:
		return ""
	case b.Doing == reqtrace.CauseRunning:
		t = "it ran"
	case b.Doing == reqtrace.CauseSyscall && op == "":
		t = "it was in a system call"
	case b.Doing == reqtrace.CauseSyscall:
		t = "it was in the system call " + op
	case b.Doing == reqtrace.CauseCgo && op == "":
		t = "it was in C"
	case b.Doing == reqtrace.CauseCgo:
		t = "it was in C (" + op + ")"
	case b.Doing == reqtrace.CauseSleep && op == "sleep":
		t = "it slept"
	case b.Doing == reqtrace.CauseSleep:
		t = "it waited for the " + cmp.Or(op, "timer")
	default:
		t = "it waited for the " + cmp.Or(op, b.Doing.String())
	}
	longest := ""
	if b.Longest > 0 {
		longest = ", for up to " + textfmt.Duration(b.Longest)
	}
	switch {
	case b.DoingAt == "":
		t += longest
	case functionOf(b.DoingAt) == functionOf(b.Holder):
		t += " (" + lineOf(b.DoingAt) + longest + ")"
	default:
		t += " at " + b.DoingAt + longest
	}
	return " while " + t
}

// Where says in words where a time was spent: the place, what was asked for there, who had it and what that one did meanwhile.
func Where(b *reqtrace.Blame) string { return strings.Join(whereParts(b), ", ") }

// Words says what took a time, who had what was waited for, and where: "waiting for the mutex that main.refresh held while it
// waited for the network (refresh.go:29), at main.look (look.go:12)".
func Words(b *reqtrace.Blame) string {
	n := NamedCause{
		Cause: b.Cause, Site: b.Site, Call: b.Call, Op: b.Op, Holder: b.Holder, Doing: b.Doing, DoingAt: b.DoingAt, DoingOp: b.DoingOp, Longest: b.Longest,
	}
	return n.text(false)
}

// whereParts is Where in pieces of a line each.
func whereParts(b *reqtrace.Blame) []string {
	if b.Cause == reqtrace.CauseRunqueueBusy {
		return []string{cmp.Or(b.Holder, "goroutines without a name")}
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
		parts = append(parts, hadBy(b.Cause, b.Op)+holderName(b)+w)
	case w != "":
		parts = append(parts, strings.Replace(w[1:], "it ", "its holder ", 1))
	}
	if b.Handler != "" && functionOf(b.Handler) != functionOf(b.Site) {
		parts = append(parts, "called from "+b.Handler)
	}
	return parts
}

// holderName returns the holder's function, with its line where no other line of its is told.
func holderName(b *reqtrace.Blame) string {
	if b.DoingAt != "" {
		return functionOf(b.Holder)
	}
	return b.Holder
}

// text says of a named cause what it is, who had what is waited for, and where: "waiting for the mutex that main.refresh
// held while it waited for the network (refresh.go:29), at main.look (look.go:12)".
func (n *NamedCause) text(handler bool) string {
	b := n.blame()
	t := asked(n.Cause, n.Op)
	if n.Cause == reqtrace.CauseRunqueueBusy {
		if n.Holder == "" {
			return t
		}
		t += ", such as " + n.Holder
		if n.Longest > 0 {
			t += ", for up to " + textfmt.Duration(n.Longest) + " each"
		}
		return t
	}
	w := while(&b)
	switch {
	case n.Holder != "":
		t += " that " + holderName(&b) + " " + had(n.Cause, n.Op) + w
	case w != "":
		t += strings.Replace(w, "it ", "its holder ", 1)
	}
	if n.Site != "" {
		if n.Holder != "" || w != "" {
			t += ","
		}
		t += " at " + n.Site
	}
	if handler && n.Handler != "" && functionOf(n.Handler) != functionOf(n.Site) {
		t += ", called from " + n.Handler
	}
	return t
}

func (n *NamedCause) blame() reqtrace.Blame {
	return reqtrace.Blame{
		Cause: n.Cause, Site: n.Site, Call: n.Call, Op: n.Op, Handler: n.Handler, Holder: n.Holder, Doing: n.Doing, DoingAt: n.DoingAt, DoingOp: n.DoingOp, Longest: n.Longest,
	}
}
