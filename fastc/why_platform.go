//go:build cgo && !nofastc && !(((amd64 || arm64) && (linux || darwin || freebsd || netbsd || openbsd || dragonfly)) || (ppc64le && linux))

package fastc

const whyNot = "the short way is not written for this platform"
