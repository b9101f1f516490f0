// Package capacity says by formulas what a group of replicas needs for its garbage collections: how
// many turns to collect, how much memory, how much of the CPU, and how many replicas.
//
// It is arithmetic only. A gate warns by [TurnLoad], its figures show it, and `evenkeel plan`
// prints it. [Compare] puts GOGC=100, GOGC=400 and replicas behind gates side by side.
//
// # The load of the turns
//
// One replica collects at a time, or k do. A replica that keeps L bytes alive and collects at twice
// that, less a jitter of up to 10% of the way, does so each 0.95 L bytes. All replicas together
// allocate R requests a second times a bytes each, so there are R a / (0.95 L) collections a
// second. Each holds a turn for a time T, to announce, drain, collect and come back:
//
//	load of the turns = R a T / (0.95 L k)
//
// The number of replicas cancels out. Above 1 the queue for the turns grows until heaps reach their
// hard threshold and are collected without one. As T grows with L, a larger heap does not help: one
// turn carries about 1.2 GB of allocation a second.
//
// # What to trust
//
// The time that a turn is held was within 10% of this in simulations and with four real
// processes, up to a load of 0.9. Memory is known to some 20%, replicas to a third: what a request
// costs falls as load rises, and marking costs up to 1.3 times as much near saturation. So all of
// these are ranges ([Range]). No quantile of any latency is predicted: from one trace they were off
// by a factor of 2.3 in the median.
package capacity
