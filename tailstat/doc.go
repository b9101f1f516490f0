// Package tailstat compares the tail latency of two sets of runs of a service, as benchstat does
// with means of benchmarks.
//
// The unit is the run. The requests of a run depend on each other, because a collection slows
// hundreds at once. A test that takes them as independent finds differences between a program and
// itself.
//
// If base and head ran in rounds, each round gives one difference of logarithms, without what
// slowed both sides. The ratio is the estimate of Hodges and Lehmann. The interval is that of
// Wilcoxon's exact signed-rank test, or of his rank-sum test without rounds (Hollander, Wolfe,
// Chicken: Nonparametric Statistical Methods, 3rd edition, sections 3.4 and 4.3). Ranks bear a
// spoilt run. If the order in each round is random, the signed-rank test needs no assumption about
// noise.
//
// Compare corrects for the number of figures (Bonferroni), so all intervals hold together. Set
// Options.Rounds if you compare after each round and stop early.
//
// Goroutines may share a Run and a Comparison that they do not change.
package tailstat
