// Package capacity computes how many turns a group of replicas needs for its garbage collections.
// Gates warn by these formulas, and `evenkeel plan` prints them:
//
//	load of the turns = R a T / (0.95 L k)
//
// All replicas allocate R requests per second times a bytes. Each collection holds one of k turns
// for a time T, and comes each 0.95 L bytes, if a replica keeps L bytes alive. docs/gcgate.md says
// what follows. T was within 10% of this with four real processes, up to a load of 0.9.
package capacity
