// Package health has a signal of evenkeel.dev/gcgate for balancers that poll a health check over
// HTTP, such as HAProxy's "option httpchk" and Envoy's active checks. [Handler] answers 503 before
// a collection.
//
// The polls must come every 10 ms or so, or Envoy must hear of a drain in the answers to requests
// ([Handler].InAnswers). Do not use it as a liveness probe.
package health
