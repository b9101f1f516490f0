// Package generate runs the stages of fastcgen one after the other, and tries what they made on the
// compilers of C and Go.
//
//	declaration file                                    generated file, warnings
//	      |                                                   ^
//	    decl -> cc --------------> match ----------------> emit
//	      |     C's types by DWARF   plans, mirrors           |
//	      |                                                   v
//	      +-------------------------------------> trials, reach (C compiler, Go's type checker)
//
// The trials find whether C takes the shims (trial.go), how much C writes to an array (arrays.go),
// and whether the conditions in directives are Go (condition.go).
package generate
