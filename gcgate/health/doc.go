// Package health has a signal of evenkeel.dev/gcgate for balancers that poll a health check over
// HTTP, such as HAProxy's "option httpchk" and Envoy's active checks. [Handler] answers 503 before
// a collection.
//
// The polls must come every 10 ms or so. Otherwise the signal is silent, and the log says so. Envoy
// may hear of a drain in the answers to requests ([Handler].InAnswers). haproxy.RuntimeAPI needs no
// polls.
//
// It is not a liveness probe, because a process that collects must not be restarted.
package health
