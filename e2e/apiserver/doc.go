// Package apiserver has contrib/k8sturn and the manifest in deploy/kubernetes meet a real
// kube-apiserver, which it builds, and etcd. That takes minutes to download and to compile, so it
// is a module of its own, which make check alone runs. It holds tests only.
package apiserver
