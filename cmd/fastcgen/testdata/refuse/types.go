//go:build fastcgen

package refuse

// #include "refuse.h"
import "C"

type (
	Union        C.union_r_union
	Bits         C.struct_r_bits
	Pointer      C.struct_r_ptr
	Hook         C.struct_r_fn
	Flexible     C.struct_r_flex
	Anonymous    C.struct_r_anon
	Outer        C.struct_r_outer
	HasUnion     C.struct_r_haunion
	LongDouble   C.struct_r_ld
	Packed       C.struct_r_packed
	PackedTail   C.struct_r_tail
	Aligned      C.struct_r_aligned
	FieldAligned C.struct_r_field_aligned
	HasVector    C.struct_r_vec
	Same         C.struct_r_same
	Empty        C.struct_r_empty
	List         C.struct_r_list
	Atomic       C.struct_r_volatile
	Vector       C.r_float4
)

//fastc:opaque
type Number C.int

//fastc:call r_void()
func Void()
