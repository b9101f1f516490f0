// Package tailstat compares the tail latency of two sets of runs of a service, as benchstat does
// with means of benchmarks.
//
// The unit is the run, because the requests of a run depend on each other. A collection slows
// hundreds at once. A test that takes them as independent finds differences between a program and
// itself.
//
// Runs of base and head in rounds give one difference of logarithms a round, without what slowed
// both sides. The ratio is the estimate of Hodges and Lehmann. The interval is that of Wilcoxon's
// exact signed-rank test, or of his rank-sum test without rounds (Hollander, Wolfe, Chicken:
// Nonparametric Statistical Methods, 3rd edition, sections 3.4 and 4.3). Ranks bear a spoilt run.
// Use a random order in each round. Then the test needs no assumption about noise.
//
// Goroutines may share a Run and a Comparison that they do not change.
package tailstat
