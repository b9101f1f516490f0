// Command exported is a library for programs in C: c-shared and c-archive.
package main

import "C"

import "evenkeel.dev/fastc/testdata/check"

// CheckJSON is check.JSON for C, which frees the text.
//
//export CheckJSON
func CheckJSON() *C.char { return C.CString(check.JSON()) }

func main() {}
