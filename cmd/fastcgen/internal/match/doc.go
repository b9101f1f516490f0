// Package match compares each declared function and type with C's: the third stage of fastcgen.
//
// For a function it makes a [Plan], which holds the fields of the frame, the Go statements that
// fill them, the arguments of the C call, and the Go expressions that read the results.
//
//	func Divide(a, b int32) (q, r int32, err error)      //fastc:call v_div(a, b, &q, &r)
//
//	Go: sets            the frame            C: args            C writes, Go reads: values
//	f.arg0 = C.int32_t(a)   int32_t arg0    fastc_f->arg0
//	f.arg1 = C.int32_t(b)   int32_t arg1    fastc_f->arg1
//	                        int32_t out2    &fastc_f->out2      int32(f.out2)
//	                        int32_t out3    &fastc_f->out3      int32(f.out3)
//
// For a struct it makes a [Mirror], a Go struct whose fields have C's offsets.
//
// Invariant: Go and C mean the same bits. The generated file asserts this again, because C may
// change. Each refusal names one edit that gets further, so match tries an edit before it suggests
// it ([CanMirror]).
package match
