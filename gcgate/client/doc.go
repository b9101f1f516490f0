// Package client keeps a Go client's requests off a replica that is about to collect garbage, where
// no balancer stands between: [Transport] spreads them over the replicas of a service whose gates
// (evenkeel.dev/gcgate) announce their absences in the headers of their answers.
//
// It needs nothing but the standard library, and touches nothing of its own process's collector. A
// replica without a gate is never drained, so a client can be changed before its services are.
//
// The services announce by evenkeel.dev/gcgate/httpgate, with its InBand or under
// gcgate.PolicyShed. The headers and how to write and read them are exported for adapters and for
// clients of another kind; docs/reference/protocol.md has the whole protocol.
package client
