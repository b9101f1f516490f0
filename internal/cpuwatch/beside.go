package cpuwatch

import "time"

// Beside is what a process on the same machine saw while another one was traced.
type Beside struct {
	Late  []Interval // when it was late itself
	Steal float64    // share of the processors' time that the hypervisor took, from 0 to 1
	CPU   *CPU       // nil: not known
}

// Interval is a time by the wall clock.
type Interval struct{ From, To time.Time }

// CPU is what the kernel counted for the traced process.
type CPU struct {
	Grouped bool    // the process's control groups were found, so the quota is known
	Quota   float64 // CPUs that the quota allows; 0: no quota
	Moments []Moment
}

// Moment is what the kernel has counted until a time.
type Moment struct {
	At        time.Time
	Periods   int64
	Throttled int64
	Waited    time.Duration // because of the quota, summed over CPUs
	Threads   []ThreadTime
}

// ThreadTime is how long a thread ran and waited for a CPU. Waited includes the quota's waits.
type ThreadTime struct {
	ID          int64
	Ran, Waited time.Duration
}
