// Package reach says which declared functions get to calls that a leaf function must not make.
//
// It reads the assembly that the C compiler writes for the preamble and the package's .c files, and
// lists the undefined symbols that each function reaches, with a way there:
//
//   - a way back into Go (a function under //export), or a longjmp without a setjmp;
//   - a call of the C library that may block;
//   - a function of a linked library, of which no source is here.
//
// Pointers are followed coarsely. A call through a pointer may go to any function whose address
// some of this code takes, and to any function that Go exports. The way shows such a step as ~>. A
// library function may call anything at all. So no warning is no proof.
package reach
