package gctrace

import (
	"math"
	"time"
)

// A position is a token of the gctrace line, in order. The runtime writes each with one write(2),
// so other text never stands inside one.
type position uint8

const (
	posGC position = iota
	posN
	posSpaceAt
	posAt
	posS
	posUtil
	posPercent
	posLeak
	posColon
	posWallSweep
	posWallPlus1
	posWallMark
	posWallPlus2
	posWallTerm
	posMSClock
	posCPUSweep
	posCPUPlus1
	posAssist
	posCPUSlash1
	posBackground
	posCPUSlash2
	posIdle
	posCPUPlus2
	posCPUTerm
	posMSCPU
	posBefore
	posArrow1
	posAfter
	posArrow2
	posLive
	posMB
	posGoal
	posMBGoal
	posStacks // holds P on a line without stacks and globals
	posMBStacks
	posGlobals
	posMBGlobals
	posProcs
	posP
	posForced // optional
	posEnd
)

// values holds what each token said, with times in ns. A literal in its first form is 1.
type values [posEnd]int64

// A token is a literal if scale is 0, or else a number.
type token struct {
	lit     string
	alt     string // leads to altNext
	altNext position
	scale   int64 // of 1 in the unit kept
	decimal bool  // up to three places
	max     int64 // of the whole part
}

// End and Total do not overflow with these.
const (
	maxSeconds = 1 << 32
	maxMillis  = 1 << 40
	maxMiB     = math.MaxInt64 >> 20
	maxGoalMiB = math.MaxUint64 >> 20 // "no goal" in some releases
)

func literal(s string) token { return token{lit: s} }
func whole(max int64) token  { return token{scale: 1, max: max} }

var millis = token{scale: int64(time.Millisecond), decimal: true, max: maxMillis}

var grammar = [posEnd]token{
	posGC:         literal("gc "),
	posN:          whole(math.MaxUint32),
	posSpaceAt:    literal(" @"),
	posAt:         {scale: int64(time.Second), decimal: true, max: maxSeconds},
	posS:          literal("s "),
	posUtil:       whole(1 << 20),
	posPercent:    literal("%"),
	posLeak:       {lit: " (checking for goroutine leaks)", alt: ": ", altNext: posWallSweep},
	posColon:      literal(": "),
	posWallSweep:  millis,
	posWallPlus1:  literal("+"),
	posWallMark:   millis,
	posWallPlus2:  literal("+"),
	posWallTerm:   millis,
	posMSClock:    literal(" ms clock, "),
	posCPUSweep:   millis,
	posCPUPlus1:   literal("+"),
	posAssist:     millis,
	posCPUSlash1:  literal("/"),
	posBackground: millis,
	posCPUSlash2:  literal("/"),
	posIdle:       millis,
	posCPUPlus2:   literal("+"),
	posCPUTerm:    millis,
	posMSCPU:      literal(" ms cpu, "),
	posBefore:     whole(maxMiB),
	posArrow1:     literal("->"),
	posAfter:      whole(maxMiB),
	posArrow2:     literal("->"),
	posLive:       whole(maxMiB),
	posMB:         literal(" MB, "),
	posGoal:       whole(maxGoalMiB),
	posMBGoal:     literal(" MB goal, "),
	posStacks:     whole(maxMiB),
	posMBStacks:   {lit: " MB stacks, ", alt: " P", altNext: posForced},
	posGlobals:    whole(maxMiB),
	posMBGlobals:  literal(" MB globals, "),
	posProcs:      whole(math.MaxInt32),
	posP:          literal(" P"),
	posForced:     {lit: " (forced)"},
}

func (v *values) cycle() Cycle {
	d := func(p position) time.Duration { return time.Duration(v[p]) }
	c := Cycle{
		N:           v[posN],
		At:          d(posAt),
		UtilPercent: int(v[posUtil]),
		Wall:        WallPhases{d(posWallSweep), d(posWallMark), d(posWallTerm)},
		CPU:         CPUPhases{d(posCPUSweep), d(posAssist), d(posBackground), d(posIdle), d(posCPUTerm)},
		HeapBefore:  v[posBefore] << 20,
		HeapAfter:   v[posAfter] << 20,
		HeapLive:    v[posLive] << 20,
		Goal:        knownGoal(v[posGoal]),
		Procs:       int(v[posProcs]),
		Forced:      v[posForced] != 0,
		LeakCheck:   v[posLeak] != 0,
	}
	if v[posMBStacks] == 0 {
		c.Procs = int(min(v[posStacks], math.MaxInt32))
		return c
	}
	c.Stacks = Of(v[posStacks] << 20)
	c.Globals = Of(v[posGlobals] << 20)
	return c
}

type progress struct {
	next position
	used int
}

// match reads tokens from b on. A torn line may have foreign text behind any of them.
func match(v *values, from position, b []byte, torn bool) progress {
	p := progress{next: from}
	for p.next < posEnd {
		t := &grammar[p.next]
		rest := b[p.used:]
		switch {
		case t.scale != 0:
			if torn {
				rest = rest[:ownLength(p.next, rest)]
			}
			n, x := t.number(rest)
			if n == 0 || torn && n < len(rest) {
				return p
			}
			p.take(v, x, n)
		case hasPrefix(rest, t.lit):
			p.take(v, 1, len(t.lit))
		case t.alt != "" && hasPrefix(rest, t.alt):
			p.take(v, 0, len(t.alt))
			p.next = t.altNext
		default:
			return p
		}
	}
	return p
}

// take moves past a token of n bytes, which says x.
func (p *progress) take(v *values, x int64, n int) {
	v[p.next] = x
	p.used += n
	p.next++
}

func (p progress) complete(b []byte) bool { return p.next >= posForced && p.used == len(b) }

func (t *token) number(b []byte) (n int, x int64) {
	for n < len(b) && isDigit(b[n]) {
		next := x*10 + int64(b[n]-'0')
		if next > t.max {
			return 0, 0
		}
		x = next
		n++
	}
	if n == 0 {
		return 0, 0
	}
	x *= t.scale
	if !t.decimal || n+1 >= len(b) || b[n] != '.' || !isDigit(b[n+1]) {
		return n, x
	}
	n++
	unit := t.scale
	for places := 0; places < 3 && n < len(b) && isDigit(b[n]); places++ {
		unit /= 10
		x += int64(b[n]-'0') * unit
		n++
	}
	return n, x
}
