package odd

import "C"

//export back
func back(n C.int) C.int { return 3 * n }

//export back_later
func back_later(n C.int) C.int { return n }
