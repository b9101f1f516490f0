// Package health has a signal of evenkeel.dev/gcgate for balancers that poll a health check over
// HTTP: HAProxy's "option httpchk", Envoy's active checks, and others. A process that is about to
// collect answers 503, and the balancer sends its requests elsewhere.
//
// [Handler] is both the signal and the handler of the path that is polled. What it costs is what
// the polls cost: to be of use they must come every 10 ms or so, since the balancer learns of a
// collection at its next poll. Where polls are slow the signal is silent, and the log says so. A
// signal that need not wait for a poll is better: haproxy.RuntimeAPI. Envoy may hear of a drain in
// the answers to requests ([Handler].InAnswers).
//
// It is no liveness probe: a process that collects is well, and must not be restarted for it.
package health
