// Package k8sturn lets the replicas of a service take turns at collecting garbage, with Leases of
// Kubernetes as the arbiter: at most K of a group collect at once, so that the others carry their
// load.
//
// [New] returns a [gcgate.Turns] for gcgate.Options.Turns. Use it for replicas that are pods of one
// cluster: it needs nothing but a service account that may use Leases (deploy/kubernetes has the
// Role).
//
// # How it works
//
// A group has K slots, the Leases gcgate-GROUP-0 to K-1 of coordination.k8s.io/v1; their holder is
// who collects:
//
//	kubectl get leases -l evenkeel.dev/gcgate-group=GROUP
//
// [Turns.TryAcquire] is one request that makes this process the holder of a Lease that nobody has,
// if the Lease still has the resourceVersion that was seen last; of two that try at once one is
// refused. Release is another one. So a collection costs the API server two writes, which is
// nothing for some hundreds of replicas that collect every few seconds, and too much for thousands:
// use etcdturn there, or fewer groups. Who waits asks nobody: the Leases are watched, from the
// first TryAcquire until [Turns.Close]. Where watches fail, as for a service account without that
// right, they are listed every 5 s, which TryAcquire waits for, and a warning says so. Who comes
// next is not decided in order of arrival: this is no [gcgate.Queue], as FileTurns and etcdturn
// are. A place would need an object of its own that ends with its process. A Lease for each that
// waits adds two writes to a collection, and garbage for someone to sweep, since nothing deletes a
// Lease whose holder is gone; a list of those who wait in the slot's Lease is one object that all
// of them write, with a conflict for each but one just when the turn is in demand; and
// spec.preferredHolder, which coordinated leader election has, names one and is behind a feature
// gate. Where the load of the turns comes near 1 ("evenkeel plan", and the gate warns), raise K or
// use etcdturn.
//
// A holder renews its Lease each third of Options.Duration. One that was not renewed for its
// duration is free. The duration is measured by the clock of who waits, from when it saw the last
// change, as client-go's leaderelection does: the times in the Lease are for people, and clocks may
// differ. So the slot of a process that was killed is free Options.Duration after the others have
// heard of it last.
//
// When it is unknown whether a request was carried out, because no answer came in time or the
// server failed, the Lease is released in the background, if it turns out to be this process's: it
// is looked at until Options.Duration after the last such request, at first each 250 ms and then
// every 2 s. The next TryAcquire takes it as it is; one that is refused changes nothing about that.
//
// A resourceVersion that is older than the one seen last was overtaken on its way, in what a watch
// tells. A restore of etcd takes them back in earnest: a list counts as it is, and so does the
// Lease that is asked for once a request was refused.
//
// # What it was tested with
//
// A kube-apiserver 1.37.2 over etcd 3.4.23, which e2e/apiserver builds and starts: with the rights
// of deploy/kubernetes and no more, 1, 2 and 16 turns at once are what turntest asks for, the turn
// of a holder that is cut off is another's when it has run out, and one that is held outlives a
// server that is killed and started again. The tests of this package talk to a part of an API
// server of their own, which serves Leases with optimistic concurrency, merge patches, watches and
// the validation of a Lease, and breaks off, delays and refuses as it is told; client-go's fake
// clientset is none of that: it stands in the place of a client, without HTTP. The manifests are
// held to the types of k8s.io/api, and applied to that server.
//
// # What it does not promise
//
// Taking turns is an optimisation. A turn can be lost, when the API server is away for longer than
// the duration, when the process is stopped that long, or when an operator changes the Lease; the
// turn says so through Lost, and two replicas may collect at once then. That costs latency. Nothing
// may rest on it for correctness: there is no fencing, and none is needed for a collection.
//
// When the API server is away TryAcquire fails, at its context's deadline at the latest, and the
// gate collects without a turn at its hard threshold.
//
// # Why there is no client-go below
//
// Five kinds of requests for one kind of object are some 450 lines here, over net/http. A service
// with a gate and net/http is a binary of 6.8 MB (linux/amd64, stripped); this package adds 0.5 MB
// and no module of others, client-go v0.37.2, its rest and its typed client for coordination/v1
// alone, 20.4 MB and 46 modules. Who has client-go in any case gives its transport: Options.Client.
package k8sturn
