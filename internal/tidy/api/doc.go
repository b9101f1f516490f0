// Package api writes down the public API of the toolkit, in the form of Go's own api/*.txt: a line
// for each thing that a user's code can name. The record is api/ at the root, a file a package.
//
//	go test ./internal/tidy/api -update          # write the record (make golden)
//	EVENKEEL_CHECK=1 go test ./internal/tidy/api # compare it with the code (make check)
//
// A change of the API is thus a diff that a reviewer sees. The same walk finds internal types that
// a user would meet, and packages with an Options that refuse it in a form of their own.
//
// The packages are type-checked from source without the bodies of their functions, once for each
// of [Systems]; nothing is compiled. What not every system has is recorded with the systems that
// have it, as in Go's files: "pkg evenkeel.dev/aio (linux-amd64), ...".
package api
