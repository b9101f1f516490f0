// Package kubernetes holds the gate's manifest in deploy and what contrib/k8sturn sends against the
// types of the API of Kubernetes. They take longer to compile than all the rest of e2e, so that
// make check alone runs it. It holds tests only.
package kubernetes
