// Package match compares each declared function with the C function that it calls, and each
// declared type with C's: the third stage of fastcgen.
//
// For a function it makes a [Plan]: the fields of the frame, which is how Go and C hand values
// over, the statements of Go that fill them, the arguments of the call in C, and the expressions of
// Go that read the results.
//
//	func Divide(a, b int32) (q, r int32, err error)      //fastc:call v_div(a, b, &q, &r)
//
//	Go: sets            the frame            C: args            C writes, Go reads: values
//	f.arg0 = C.int32_t(a)   int32_t arg0    fastc_f->arg0
//	f.arg1 = C.int32_t(b)   int32_t arg1    fastc_f->arg1
//	                        int32_t out2    &fastc_f->out2      int32(f.out2)
//	                        int32_t out3    &fastc_f->out3      int32(f.out3)
//
// For a struct it makes a [Mirror], a Go struct of which each field has the offset that it has in
// C.
//
// Invariant: Go and C have to mean the same bits. A number is passed only where width, signedness
// and kind agree, memory only where its elements do, and what C says about lengths and const
// counts. Whatever is refused comes with one edit that gets further, so a suggestion is tried
// before it is made ([CanMirror] is what keeps one from leading back to another). All of it is
// asserted again by the generated file, since C may change afterwards.
package match
