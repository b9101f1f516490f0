// Package verdict says in words why a service's slowest requests were slow. The command evenkeel
// explain says the same of a trace. Use [During] in a test of your service.
//
// A verdict compares the slowest 1% of the requests (p99+) with the median request. The
// difference is the excess. Sentences may change between releases. A program reads Causes.
package verdict
