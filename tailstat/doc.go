// Package tailstat says whether two sets of runs of a service differ, in their tail above all: what benchstat is to
// means of benchmarks. It imports the standard library alone.
//
// The unit is the run. The requests of one run are not independent of each other: a collection or a stalled machine
// slows hundreds of them at once. So a test that takes requests for independent (a bootstrap over requests,
// Mann-Whitney over requests) finds differences between a program and itself; command tailstat in this project's
// bench module shows how often, on recorded runs. A run gives one number a figure, and the runs are compared.
//
// Where runs were interleaved, base and head side by side in rounds, each round gives one difference of logarithms,
// and what the rounds have in common (a neighbour, the time of the day) cancels. The estimate of the ratio is that of
// Hodges and Lehmann (Annals of Mathematical Statistics 34, 1963), the interval is what Wilcoxon's signed-rank test
// does not reject (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3rd edition, section 3.4), with the
// test's exact distribution. Otherwise Wilcoxon's rank-sum test takes its place (the same, section 4.3). Ranks bear a run
// that a neighbour has spoilt, which a t-test does not: its interval widens, and its level is only
// right where logarithms of tails are normal, which they are not. Where each round's order is random, as
// evenkeel run does, a round's difference between a program and itself has as good a chance to be positive as negative
// whatever the machine did, so the signed-rank test keeps its level by the draw, not by an assumption about noise.
//
// Who looks at many figures finds one that differs by chance: Compare corrects for the number of figures (Bonferroni),
// so all intervals hold together. Who looks after each round and stops when the answer pleases finds one, too: with
// Options.Rounds the intervals of all looks hold together (see there).
//
// A Run, a Comparison and what they hold may be used by several goroutines as long as none changes them.
package tailstat
