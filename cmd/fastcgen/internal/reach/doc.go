// Package reach says which declared functions get to calls that a leaf function must not make, and by which way.
//
// A leaf that blocks stops more than itself, so whoever declares one should know that sqlite3_step gets to pwrite. The
// way there leads through tables of pointers, and a warning is worth the way that it shows. So the functions of a table
// have to be told apart. That is read off the assembly which the C compiler writes without optimization.
//
//	assembly of the preamble and the .c files
//	   |  assembly.go: labels, data, one function after the other      machine.go, body.go: what registers hold
//	   v
//	graph.go    nodes (functions, variables), calls by name, calls through pointers, what is put into which place
//	   |  pointers.go: which functions a pointer may be, from where it is read
//	   v
//	reach.go    the cheapest way from a function to each call that is looked for
//	   v
//	blocking.go the warning       calls.go: which calls block       library.go: what linked libraries import
//
// A [value] says where a register's contents come from, a place what may be stored. In
//
//	static int file_write(file *f, ...) { return f->methods->put(f, ...); }
//
// the pointer that is called is the field at 16 of (the field at 0 of (argument 0 of file_write)). It is one of the functions
// that stand at 16 of what stands at 0 of what file_write gets. file_open has put &disk at 0 of a struct; disk, a
// variable, holds disk_put at 16: so file_write => disk_put, and not disk_sync, which stands at 24.
//
// What this rests on, and what is not seen:
//
//   - Unoptimised code keeps variables in the frame and loads what each expression needs. Within a function, registers
//     are followed from label to label forwards; what a loop needs is in the frame, so jumps back need not be.
//   - Places are told apart by offset only, structs of two kinds with functions of one form at one offset are not:
//     then there is a way too many. Among the candidates, those that take what is passed come first.
//   - The nearest knowledge counts (named, stored, placed, copied in pointers.go): a table to which the pointer leads before
//     one that is put at that offset of any struct. Where nothing is known a pointer may be any function
//     whose address is taken, and the way has a ~> in it. It is shown only where there is no other.
//   - A table that a user's program hands in at run time is in no file here. No warning is no proof.
package reach
