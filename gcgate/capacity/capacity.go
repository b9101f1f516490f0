package capacity

import (
	"math"
	"time"
)

// TurnLoad returns the share of the time for which turns are held. Above 1 they do not suffice. All
// replicas together allocate allocRate bytes per second, and one of them room bytes between two
// collections ([Room]). A collection holds its turn for held. It is 0 if a figure is not positive.
func TurnLoad(allocRate, room float64, held time.Duration, turns int) float64 {
	if !(allocRate > 0 && room > 0 && held > 0 && turns > 0) {
		return 0
	}
	return allocRate * held.Seconds() / (room * float64(turns))
}

// TurnsFor returns how many turns keep [TurnLoad] at load or below, at least 1. load is above 0.
func TurnsFor(allocRate, room float64, held time.Duration, load float64) int {
	turns := math.Ceil(TurnLoad(allocRate, room, held, 1)/load - 1e-9)
	return int(min(max(turns, 1), math.MaxInt32))
}

// EasyLoad leaves room for chance. Random collections wait one turn at 0.5 of capacity, four at
// 0.8.
const EasyLoad = 0.8

// Room returns how many bytes a replica allocates between two collections, in the mean. jitter is
// the share by which triggers are lowered at most.
func Room(live, trigger, jitter float64) float64 {
	return max(trigger-live, 0) * (1 - jitter/2)
}

// The runtime under GOGC=off (runtime/mgcpacer.go).
const (
	startShare   = 45. / 64 // of the way to its goal, a cycle may begin
	goalShare    = 0.97     // of the heap's part of the limit is the goal
	goalHeadroom = 1 << 20  // bytes below that, at least
)

// RuntimeStart returns the lowest heap, in bytes, at which the runtime begins a cycle under
// GOGC=off. room is what the memory limit leaves to the heap.
func RuntimeStart(live, room float64) float64 {
	goal := min(goalShare*room, room-goalHeadroom)
	return live + startShare*max(goal-live, 0)
}

// RoomForStart returns how many bytes the memory limit must leave to the heap so that the runtime
// begins no cycle below start.
func RoomForStart(live, start float64) float64 {
	goal := live + (start-live)/startShare
	return max(goal/goalShare, goal+goalHeadroom)
}

// LongestWait returns how long the last replica waits if all want a turn at once.
func LongestWait(replicas, turns int, held time.Duration) time.Duration {
	if replicas < 1 || turns < 1 || held <= 0 {
		return 0
	}
	before := (replicas - 1) / turns
	return time.Duration(min(float64(before)*float64(held), math.MaxInt64/2))
}

// CarriedRate returns what a replica allocates in bytes per second, while as many others are
// drained as there are turns. rate is its mean.
func CarriedRate(rate float64, replicas, turns int) float64 {
	if turns < 1 || replicas <= turns {
		return rate
	}
	return rate * float64(replicas) / float64(replicas-turns)
}
