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
// A stage gets what the stages before it returned, returns what it made and what is wrong, and
// changes nothing of theirs. What is wrong in one is said before the next begins.
//
// Trials find what the stages cannot know: whether C takes the shims (trial.go), how much C writes
// to an array (arrays.go), whether the conditions in directives are Go of the right type
// (condition.go).
package generate
