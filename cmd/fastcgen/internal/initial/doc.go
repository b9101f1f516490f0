// Package initial writes the first declaration file for functions that a package calls by ordinary
// cgo: fastcgen -init.
//
// The C compiler says what the types are. The calls say which number is the length of which slice,
// and whether errno is looked at. The rest is asked.
//
//	read.go    the files' preambles and their calls C.f(...)
//	ask.go     what the names are in C; what a preamble defines and its copy would define again
//	origin.go  what an argument is, as it stands in the call: &x[0], len(x), &n
//	param.go   parameters and results of one function, from its C type and its arguments
//	guess.go   all of them, with names and types
//	write.go   the declaration file, and what fastcgen itself says of it
//
// Invariant: a declaration is written only if the calls leave one meaning. If they leave a
// question, the question is written, and the declaration below it is a comment. Before the file is
// written the other stages read it. What they refuse becomes a question too, and what they warn of
// goes by ordinary cgo. No file is changed.
package initial
