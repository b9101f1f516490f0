// Package initial writes the first declaration file for functions that a package calls by ordinary cgo: fastcgen -init.
//
// The C compiler says what the types are; what it cannot say is read off the calls: which number is the length of
// which slice, what a variable holds before the call, whether errno is looked at.
//
//	read.go    the files' preambles and their calls C.f(...)
//	ask.go     what the names are in C; what a preamble defines and its copy would define again
//	origin.go  where an argument comes from: &x[0], len(x), C.CString(s), through variables that are assigned once
//	param.go   parameters and results of one function, from its C type and the origins of its arguments
//	guess.go   all of them, with names and types
//	write.go   the declaration file, and what fastcgen itself says of it
//
// Invariant: a declaration is written only where the calls leave one meaning. Where they leave a question, the question
// is written, and the declaration below it is a comment. Before the file is written the other stages read it:
// what they refuse becomes a question too, and what they warn of goes by ordinary cgo. No file is changed.
package initial
