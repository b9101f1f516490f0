// Package emit writes the generated file, the fourth stage of fastcgen: text only, no compiler.
//
// For each function there are three pieces, and the names in them are those of package match's
// plan:
//
//	preamble, in C    struct fastc_F_frame { ... };                      the frame
//	                  int32_t fastc_PKG_HASH_F(void *fastc_frame) {...}  the shim: takes the frame apart,
//	                                                                     calls, keeps the results
//	Go                func F(...) ... {                                  the wrapper: checks, fills the frame,
//	                      var f C.struct_fastc_F_frame                   hands it to the shim through fastc, reads it
//
// The frame is C's struct, so that cgo lays it out: nothing here computes an offset of it. The
// frame lives on the goroutine's stack and does not move during the call. runtime.KeepAlive holds
// what it points to until the call is over.
//
// Assertions in the C part (asserts.go) hold what was found out about C when the file was made; a
// header that has changed since does not compile.
package emit
