// Package decl reads declaration files, the first stage of fastcgen.
//
// A [File] is what its author wrote, each thing with its place. Nothing here knows C. A [GoType] is
// syntax, which package match resolves.
package decl
