// Package deflate compresses and decompresses by libdeflate, a library of C, through fastc. It
// shows how a library that people have becomes a package of Go: calls.go declares its functions,
// fastcgen makes the Go of them, and codec.go is what a Go programmer wants to see.
//
// It is behind the build tag libdeflate, as it needs the library:
//
//	apt-get install libdeflate-dev pkg-config
//	go test -tags libdeflate ./deflate          # from examples/
//
// README.md has the figures: when libdeflate is worth it, and when Go alone is as good.
package deflate

//go:generate go run evenkeel.dev/cmd/fastcgen calls.go
