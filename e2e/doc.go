// Package e2e drives built binaries as a person would, in headless Chromium. It runs the real
// balancers of deploy against the signals of gcgate, and other people's HTTP clients against httpd.
//
//	go test ./...                             # a missing browser or server skips, and says so
//	EVENKEEL_TEST=full go test ./...          # it fails, as it does where CI is set
//	EVENKEEL_SHOTS=/some/folder go test ./... # keeps screenshots there, as go test -artifacts does
package e2e
