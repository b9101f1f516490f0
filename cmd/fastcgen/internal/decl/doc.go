// Package decl reads declaration files, the first stage of fastcgen.
//
// A [File] is what its author wrote, each thing with its place, so that later stages can say where
// something is wrong. Nothing here knows C: the names of C are taken as they stand, and package cc
// asks what they are. What is wrong in the file itself is found here, all of it in one run
// ([Problems]).
//
// The Go types that a declaration may use are here too ([GoType]), as syntax: what a name stands
// for is found out by package match.
package decl
