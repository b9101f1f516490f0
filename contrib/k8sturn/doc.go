// Package k8sturn lets the replicas of a service take turns at collecting garbage. Leases of
// Kubernetes decide which K of a group may collect at once, so that the others carry the load.
//
// [New] returns a [gcgate.Turns] for gcgate.Options.Turns. Use it for pods of one cluster. It needs
// a service account that may use Leases. The folder deploy/kubernetes has the Role.
//
// # How it works
//
// A group has K slots, the Leases gcgate-GROUP-0 to K-1 of coordination.k8s.io/v1. The holder of a
// Lease is the replica that collects:
//
//	kubectl get leases -l evenkeel.dev/gcgate-group=GROUP
//
// [Turns.TryAcquire] reads a Lease, and takes it if it is free, by a request that fails if the Lease
// has changed. A replica that waits reads it at most five times per second. There is no queue. If
// turns are nearly always taken ("evenkeel plan", and the gate warns), raise K or use etcdturn.
//
// A Lease that was not renewed for Options.Duration is free. Each replica measures that by its own
// clock, from when it first saw the last change.
//
// If no answer comes, a request may have been carried out. For Options.Duration this process then
// reads the Lease in the background, and releases it if it is the holder.
//
// # Limits
//
// A turn is lost if the API server is away or the process is stopped for longer than
// Options.Duration, or if an operator changes the Lease, which the next renewal notices. The turn's
// Lost says so, and two replicas may collect at once. While the API server is away TryAcquire fails,
// and the gate collects without a turn at its hard limit.
//
// The package uses net/http, because client-go adds 13 MB and 46 modules to a small service.
package k8sturn
