//go:build cgo && linux

package main

// modules are what is converted.
var modules = []module{}
