package callback

import "C"

//export grow
func grow(C.int) { deep(2000) }

// deep needs more stack than a new goroutine has, so that the runtime moves it.
//
//go:noinline
func deep(n int) byte {
	var local [128]byte
	if n > 0 {
		local[n%len(local)] = deep(n - 1)
	}
	return local[0]
}
