// Package cc asks the C compiler what the C names of a declaration file are, the second stage of
// fastcgen.
//
// No C is parsed. A probe is a line of C that declares a variable of the type in question; the
// compiler's debugging information (DWARF) of that variable is the answer:
//
//	//fastc:call v_dot(...)   ->   __typeof__(&v_dot) fastc_func_0;   ->   *dwarf.FuncType
//	type Point C.struct_v_point -> struct v_point *fastc_type_1;      ->   *dwarf.StructType
//
// Invariant: the compiler is run as go build would run it, with the package's own #cgo flags, those
// of pkg-config and of the environment, and with no flag that makes it do more than compile (see
// flags.go). What is compiled is never linked and never run. Each run has a file of its own in a
// temporary folder.
//
// The same compiler is asked by other stages whether it takes what they made ([Toolchain.Compile],
// [Toolchain.Strictly]), and for the assembly of the package's C ([Toolchain.Assembly]).
package cc
