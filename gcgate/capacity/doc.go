// Package capacity computes how many turns a group of replicas needs for its garbage collections.
// Gates warn by these formulas, and `evenkeel plan` prints them.
//
// A replica that keeps L bytes alive collects each 0.95 L bytes, at twice that less half of the
// jitter. All replicas allocate R requests per second times a bytes. Each collection holds one of k
// turns for a time T:
//
//	load of the turns = R a T / (0.95 L k)
//
// Above 1 heaps are collected without a turn. T grows with L, so one turn carries about 1.2 GB of
// allocation per second. T was within 10% of this with four real processes, up to a load of 0.9.
package capacity
