package vec

// #include "vec.h"
import "C"

// The modes.
const (
	Careful Mode = C.V_SLOW
	Fast    Mode = C.V_FAST
)
