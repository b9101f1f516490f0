// Package capacity computes what a group of replicas needs for its garbage collections: turns,
// memory, CPU, and replicas. It is arithmetic only. A gate warns by [TurnLoad], and `evenkeel plan`
// prints [Compare].
//
// # The load of the turns
//
// One replica collects at a time, or k do. A replica that keeps L bytes alive and collects at twice
// that, less a jitter of up to 10% of the way, does so each 0.95 L bytes. All replicas together
// allocate R requests per second times a bytes each, so there are R a / (0.95 L) collections per
// second. Each holds a turn for a time T:
//
//	load of the turns = R a T / (0.95 L k)
//
// The number of replicas cancels out. Above 1 heaps reach their hard threshold and are collected
// without a turn. T grows with L, so one turn carries about 1.2 GB of allocation per second.
//
// # Precision
//
// The time that a turn is held was within 10% of this in simulations and with four real processes,
// up to a load of 0.9. Memory is known to some 20%, and replicas to a third, so all are ranges
// ([Range]). This package predicts no quantile of a latency.
package capacity
