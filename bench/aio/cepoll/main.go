//go:build linux && cgo

// Command cepoll is an echo server in C on edge-triggered epoll: the limit of the Go servers.
package main

// void cepoll(void);
import "C"

func main() { C.cepoll() }
