// Package initial writes the first declaration file for functions that a package calls by ordinary
// cgo: fastcgen -init.
//
//	read.go    the files' preambles and their calls C.f(...)
//	ask.go     what the names are in C, and what a copy of a preamble would define again
//	origin.go  what an argument is, according to the call: &x[0], len(x), &n
//	param.go   parameters and results of one function, from its C type and its arguments
//	guess.go   all of them, with names and types
//	write.go   the declaration file, and what the other stages say of it
//
// Invariant: a declaration is written only if the calls leave one meaning. Otherwise the file has a
// question, and the declaration as a comment below it. What the other stages refuse becomes a
// question too.
package initial
