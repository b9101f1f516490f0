// Package health has a signal of evenkeel.dev/gcgate for balancers that poll over HTTP, such as
// HAProxy's "option httpchk" and Envoy's active checks. [Handler] answers 503 before a collection.
// Do not use it as a liveness probe.
package health
