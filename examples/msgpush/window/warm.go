package window

import "runtime"

// Warm takes so many bytes from the system, touches them and lets them go: what the process
// allocates from then on is not new to the kernel, as in one that has run for long. It collects
// once, also where GOGC is off.
func Warm(bytes int) {
	const piece, page = 1 << 20, 4 << 10
	kept := make([][]byte, bytes/piece)
	for i := range kept {
		kept[i] = make([]byte, piece)
		for k := 0; k < piece; k += page {
			kept[i][k] = 1
		}
	}
	runtime.KeepAlive(kept)
	runtime.GC()
}
