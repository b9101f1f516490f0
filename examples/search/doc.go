// Command search is a web application that searches three news feeds, in two versions that
// answer alike and allocate differently: a program to watch the garbage collector with.
//
//	go run ./search                  # from examples/; then open http://127.0.0.1:5000
//	go run ./search -alloc=lean      # the version without the extra copies
//
// The idea comes from Ardan Labs' study of GC traces: a service that lower-cases each text
// of each item at each request works, and is fast enough to go unnoticed, until one looks at
// how often the collector runs. Build it, send it the same load twice, and compare:
//
//	go build -o /tmp/search ./search
//	GODEBUG=gctrace=1 /tmp/search -alloc=extra > /dev/null     # stderr holds the gc lines, nothing else
//	GODEBUG=gctrace=1 /tmp/search -alloc=lean > /dev/null
//
// A request is POST or GET /search?term=president&cnn=on&bbc=on&nyt=on; the form body works
// too. GET / is the form, and answers as soon as the program is ready. /debug/pprof/ holds
// the profiles. The address is a loopback one unless -addr says otherwise; profiles should
// not be shown to the world.
//
// With no -feeds the program serves sample feeds of its own, on a loopback port that the
// kernel chooses, and needs no network. Real ones are given as addresses:
//
//	go run ./search -feeds 'cnn=http://...,bbc=https://...,nyt=https://...'
//
// The packages beside this file are the parts: feed fetches and caches, match is the
// experiment, page renders, feeds holds the samples.
package main
