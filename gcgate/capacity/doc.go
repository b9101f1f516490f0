// Package capacity computes how many turns a group of replicas needs for its garbage collections.
// A gate warns by these formulas, and `evenkeel plan` uses them.
//
// A replica that keeps L bytes alive collects each 0.95 L bytes, at twice that less half of the
// jitter. All replicas together allocate R requests per second times a bytes each. Each collection
// holds one of k turns for a time T:
//
//	load of the turns = R a T / (0.95 L k)
//
// The number of replicas cancels out. Above 1 heaps are collected without a turn. T grows with L,
// so one turn carries about 1.2 GB of allocation per second. T was within 10% of this in
// simulations and with four real processes, up to a load of 0.9.
package capacity
