// Package emit writes the generated file, the fourth stage of fastcgen.
//
// Each function of a plan of package match becomes three pieces:
//
//	preamble, in C    struct fastc_F_frame { ... };                      the frame
//	                  int32_t fastc_PKG_HASH_F(void *fastc_frame) {...}  the shim: takes the frame apart,
//	                                                                     calls, keeps the results
//	Go                func F(...) ... {                                  the wrapper: checks, fills the frame,
//	                      var f C.struct_fastc_F_frame                   hands it to the shim through fastc, reads it
//
// The frame is C's struct, so that cgo lays it out. It is on the goroutine's stack and does not
// move during the call. Assertions in C (asserts.go) hold what the C compiler said about the
// headers.
package emit
