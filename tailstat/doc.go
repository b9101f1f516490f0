// Package tailstat compares the tail latency of two sets of runs of a service, as benchstat does
// with means of benchmarks.
//
// The unit is the run, because the requests of one run depend on each other. A collection slows
// hundreds of them at once. A test that takes requests as independent finds differences between a
// program and itself. A run gives one number for each figure.
//
// If base and head ran in rounds, each round gives one difference of logarithms, without what both
// sides of a round share, such as a busy neighbour. The ratio is the estimate of Hodges and Lehmann
// (Annals of Mathematical Statistics 34, 1963). The interval is that of Wilcoxon's signed-rank test
// with its exact distribution (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3rd
// edition, section 3.4). Without rounds it is that of the rank-sum test (section 4.3). Ranks bear a
// spoilt run. A t-test does not, and needs normal logarithms, which tails do not have. If the order
// in each round is random, the signed-rank test needs no assumption about noise.
//
// Compare corrects for the number of figures (Bonferroni), so all intervals hold together. Set
// Options.Rounds if you compare after each round and stop early.
//
// Goroutines may share a Run and a Comparison that they do not change.
package tailstat
