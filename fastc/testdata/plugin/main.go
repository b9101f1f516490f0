// Command plugin is loaded by host.
package main

import "C"

import "evenkeel.dev/fastc/testdata/check"

// JSON is check.JSON.
func JSON() string { return check.JSON() }

func main() {}
