// Package odd gives C functions of Go to call.
package odd

// #include "odd.h"
import "C"

var box = C.box_of()

func set() { C.box_set(box, C.told(C.back)) }

func Plain(n int) int { return int(C.plain(C.int(n))) }

func Tells(n int) int { return int(C.tells(C.int(n))) }

func Tell(n int) int {
	set()
	return int(C.box_tell(box, C.int(n)))
}

func Count() int { return int(C.box_count(box)) }

func Direct(n int) int { return int(C.back(C.int(n))) }
