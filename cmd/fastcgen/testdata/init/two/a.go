package two

// #include <stdint.h>
// static inline uint64_t mix(uint64_t a, uint64_t b) { return a * 31 + b; }
import "C"

func mix(a, b uint64) uint64 { return uint64(C.mix(C.uint64_t(a), C.uint64_t(b))) }
