//go:build cgo && nofastc

package fastc

const whyNot = "built with the tag nofastc"
