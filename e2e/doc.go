// Package e2e drives built binaries as a person would, in headless Chromium. It runs the real
// balancers of deploy against the signals of gcgate, and other people's HTTP clients against httpd.
//
//	go test ./...                    # a missing browser or server skips, and says so
//	EVENKEEL_TEST=full go test ./... # it fails, as it does where CI is set
//	go test -artifacts ./...         # keeps screenshots in _artifacts
package e2e
