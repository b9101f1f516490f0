package reqtrace

import (
	"cmp"
	"slices"
)

// A call over HTTP/1 shows in the waits of net/http's client:
//
//	caller      run ─┐ │ select                         │ goes on
//	write loop       └ run: writes                      │
//	read loop          waits for the network    │ run ──┘
//
// If the caller is late, the read loop waits for it in a select, which the caller ends. Over HTTP/2
// a goroutine of the call writes. Over gRPC one of the connection does, and the trace does not say
// when it writes for which call.

const maxCalls = 1024 // of a request

// answers records a call if by ends g's wait for an answer, or is an answered caller. info is by's.
func (m *model) answers(g, by *goroutine, info *stackInfo, t int64) {
	switch {
	case info.has(roleReadLoop) && g.calling:
		m.turns.call(g, by, t)
	case !info.has(roleCalls):
	case !info.has(roleSelects):
		by.callAt = t // it hands the request to the write loop
	case g.reads:
		m.turns.call(by, g, t)
	}
}

func (x *turns) call(g, conn *goroutine, t int64) {
	start := g.callAt
	if start == 0 {
		start = t
	}
	g.calling, g.callAt = false, 0
	sent := dur(start - x.origin)
	c := Call{Start: sent, Sent: sent, End: dur(t - x.origin), Conn: conn.id}
	if conn.connects > 0 { // it may be born long after that
		c.Opened = dur(conn.connects - x.origin)
	}
	r := g.worksFor()
	if r != nil && conn.opener == r.seq { // the call waited for its connection, too
		c.Start = min(c.Start, c.Opened)
	}
	conn.opener = 0
	switch {
	case r == nil:
	case g.called > 0 && g.called <= len(r.calls):
		marked := &r.calls[g.called-1]
		marked.Sent, marked.End, marked.Conn, marked.Opened = c.Sent, c.End, c.Conn, c.Opened
	case len(r.calls) < maxCalls:
		r.calls = append(r.calls, c)
	}
	g.called = 0
}

func (x *turns) marksCall(g *goroutine, c Call) {
	if r := g.worksFor(); r != nil && len(r.calls) < maxCalls {
		r.calls = append(r.calls, c)
		g.called = len(r.calls)
	}
}

// connection sets what tells the calls of a connection at both of its ends.
func (x *turns) connection(q *Request, g *goroutine) {
	slices.SortStableFunc(q.Calls, func(a, b Call) int { return cmp.Compare(a.Start, b.Start) })
	opened := g.opened
	if q.Conn = g.conn; g.serve {
		q.Conn, opened = g.id, g.born
	}
	if opened > 0 {
		q.Opened = dur(opened - x.origin)
	}
	if g.answer > 0 {
		q.Answered = dur(g.answer - x.origin)
	}
}

// worksFor returns the goroutine whose turn g works for, or nil.
func (g *goroutine) worksFor() *goroutine {
	for seq, p := g.turnOf(), g; seq != 0 && p != nil; p = p.parent {
		if p.seq == seq {
			return p
		}
	}
	return nil
}

const maxSends = 200_000 // ns

// sends returns when g began to send what it awaits from t on, or earlier.
func (g *goroutine) sends(t int64) int64 {
	if n := len(g.segments); n > 1 {
		return max(g.segments[n-2].start, t-maxSends)
	}
	return t
}

// talks notes the system calls of clients.
func (g *goroutine) talks(info *stackInfo, t int64) {
	switch {
	case info.has(roleConnects):
		g.connects, g.opener = t, g.turnOf()
	case info.has(roleSends) && !g.wrote && g.parent != nil:
		g.wrote, g.parent.callAt = true, t
	}
}
