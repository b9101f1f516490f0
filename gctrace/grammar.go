package gctrace

import (
	"math"
	"time"
)

// A position is a token of the gctrace line, in order. The runtime writes each with one write(2),
// so other text stands between tokens, never inside one.
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
	posForced // optional, so all figures are there
	posEnd
)

// values holds what each token said, with times in nanoseconds. A literal in its first form is 1.
type values [posEnd]int64

// A token is a literal, or a number if scale is not 0.
type token struct {
	lit     string
	alt     string // another literal, which leads to altNext
	altNext position
	scale   int64 // value of 1 in the unit kept
	decimal bool  // may have a point and up to three places
	max     int64 // largest whole part
	want    string
}

// Larger than in any real line, and small enough for End and Total.
const (
	maxSeconds = 1 << 32
	maxMillis  = 1 << 40
	maxMiB     = math.MaxInt64 >> 20
	maxGoalMiB = math.MaxUint64 >> 20 // "no goal" in some releases
)

func literal(s string) token { return token{lit: s, want: quote(s)} }
func quote(s string) string  { return `"` + s + `"` }
func whole(max int64, want string) token {
	return token{scale: 1, max: max, want: want}
}

func millis(want string) token {
	return token{scale: int64(time.Millisecond), decimal: true, max: maxMillis, want: "milliseconds of " + want}
}

var grammar = [posEnd]token{
	posGC:         literal("gc "),
	posN:          whole(math.MaxUint32, "the collection's number"),
	posSpaceAt:    literal(" @"),
	posAt:         {scale: int64(time.Second), decimal: true, max: maxSeconds, want: "seconds since the start"},
	posS:          literal("s "),
	posUtil:       whole(1<<20, "a percentage"),
	posPercent:    literal("%"),
	posLeak:       {lit: " (checking for goroutine leaks)", alt: ": ", altNext: posWallSweep, want: `": "`},
	posColon:      literal(": "),
	posWallSweep:  millis("sweep termination"),
	posWallPlus1:  literal("+"),
	posWallMark:   millis("marking"),
	posWallPlus2:  literal("+"),
	posWallTerm:   millis("mark termination"),
	posMSClock:    literal(" ms clock, "),
	posCPUSweep:   millis("sweep termination's CPU"),
	posCPUPlus1:   literal("+"),
	posAssist:     millis("assists' CPU"),
	posCPUSlash1:  literal("/"),
	posBackground: millis("background workers' CPU"),
	posCPUSlash2:  literal("/"),
	posIdle:       millis("idle workers' CPU"),
	posCPUPlus2:   literal("+"),
	posCPUTerm:    millis("mark termination's CPU"),
	posMSCPU:      literal(" ms cpu, "),
	posBefore:     whole(maxMiB, "MB before"),
	posArrow1:     literal("->"),
	posAfter:      whole(maxMiB, "MB after"),
	posArrow2:     literal("->"),
	posLive:       whole(maxMiB, "MB live"),
	posMB:         literal(" MB, "),
	posGoal:       whole(maxGoalMiB, "the goal's MB"),
	posMBGoal:     literal(" MB goal, "),
	posStacks:     whole(maxMiB, "MB of stacks or the number of Ps"),
	posMBStacks:   {lit: " MB stacks, ", alt: " P", altNext: posForced, want: `" MB stacks, " or " P"`},
	posGlobals:    whole(maxMiB, "MB of globals"),
	posMBGlobals:  literal(" MB globals, "),
	posProcs:      whole(math.MaxInt32, "the number of Ps"),
	posP:          literal(" P"),
	posForced:     {lit: " (forced)", want: `" (forced)" or the end of the line`},
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
