// Package digest computes in C for the plant c, because a test cannot import "C".
package digest

// static unsigned long digest(unsigned long seed, long n) {
// 	for (long i = 0; i < n; i++) seed = (seed ^ seed >> 29) * 0x9e3779b97f4a7c15;
// 	return seed;
// }
import "C"

// Of computes n steps, about 1 ns each.
func Of(seed uint64, n int) uint64 { return uint64(C.digest(C.ulong(seed), C.long(n))) }
