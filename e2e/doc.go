// Package e2e drives built binaries as a person would: it starts the program, opens it in
// headless Chromium, clicks, types, reads the page, stops the program with a signal and
// looks at how it left. And it runs the balancers of deploy, the real ones, against the signals
// of gcgate. And it has other people's clients of HTTP talk to httpd. It holds tests only.
//
//	go test ./...                             # a missing browser or server skips, and says so
//	EVENKEEL_TEST=full go test ./...          # it fails, as it does where CI is set
//	EVENKEEL_SHOTS=/some/folder go test ./... # keeps the screenshots there
//
// Without EVENKEEL_SHOTS go test -artifacts keeps them, and where neither is asked for none are taken.
package e2e
