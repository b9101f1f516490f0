//go:build !cgo

package fastc

const whyNot = "built without cgo: there is no C to call"
