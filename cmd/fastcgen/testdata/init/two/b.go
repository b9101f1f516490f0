package two

/*
#include <stdint.h>
static inline int32_t half(int32_t n) { return n / 2; }
*/
import "C"

type halver struct{ n int32 }

func (h *halver) half() int32 {
	h.n = int32(C.half(C.int32_t(h.n)))
	return h.n
}
