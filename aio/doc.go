// Package aio is a proactor: one goroutine drives tens of thousands of connections.
package aio
