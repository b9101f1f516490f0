// Package kubernetes tests the gate's manifest and what contrib/k8sturn sends against the types of
// Kubernetes' API, which take long to compile.
package kubernetes
