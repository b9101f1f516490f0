// Package cc asks the C compiler what the C names of a declaration file are, the second stage of
// fastcgen.
//
// A probe is a line of C that declares a variable of the type in question. The debugging
// information (DWARF) of that variable is the answer:
//
//	//fastc:call v_dot(...)   ->   __typeof__(&v_dot) fastc_func_0;   ->   *dwarf.FuncType
//	type Point C.struct_v_point -> struct v_point *fastc_type_1;      ->   *dwarf.StructType
//
// Invariant: the compiler runs with the flags that go build would give it, and with no flag that
// makes it do more than compile (flags.go). Nothing is linked or run.
package cc
