// Package apiserver tests contrib/k8sturn and the manifest in deploy/kubernetes with a real
// kube-apiserver, which it builds, and etcd. It is a module of its own because that takes minutes.
package apiserver
