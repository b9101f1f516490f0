//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// row is one thing that is measured of each server.
type row struct {
	name, load, path string
	conns            int
	tls, h2          bool
	classic          bool     // of tls: the client offers no key of ML-KEM, so that its hello is a third as long
	crowd            string   // of load beside: what its connections do, while some others ask
	servers          []string // nil: all
	memory           float64  // of load beside: the server's at most, over net/http's
}

// serious are the servers that the rows of TLS and of crowds are about.
var serious = []string{base, "httpd-epoll", "httpd-uring"}

var rows = []row{
	{name: "idle", load: "hold", path: "/hello", conns: 10_000},
	{name: "idle-tls", load: "hold", path: "/hello", conns: 10_000, tls: true, servers: serious},
	{name: "idle-tls-classic", load: "hold", path: "/hello", conns: 10_000, tls: true, classic: true, servers: serious},
	{name: "idle-h2", load: "hold", path: "/hello", conns: 2000, h2: true, servers: serious},
	{name: "idle-h2-tls", load: "hold", path: "/hello", conns: 2000, h2: true, tls: true, servers: serious},
	{name: "hello-100", load: "closed", path: "/hello", conns: 100},
	{name: "hello-1000", load: "closed", path: "/hello", conns: 1000},
	{name: "hello-tls-100", load: "closed", path: "/hello", conns: 100, tls: true, servers: serious},
	{name: "json-100", load: "closed", path: "/json", conns: 100},
	{name: "json-1000", load: "closed", path: "/json", conns: 1000},
	{name: "64k-100", load: "closed", path: "/64k", conns: 100},
	{name: "64k-1000", load: "closed", path: "/64k", conns: 1000},
	{name: "cpu-100us", load: "closed", path: "/cpu-100us", conns: 100},
	{name: "cpu-1ms", load: "closed", path: "/cpu-1ms", conns: 100},
	{name: "sleep-100", load: "closed", path: "/sleep", conns: 100},
	{name: "sleep-1000", load: "closed", path: "/sleep", conns: 1000},
	{name: "burst", load: "burst", path: "/hello", conns: 8192},
	{name: "crowd-idle", load: "beside", path: "/hello", conns: 18_000, crowd: "idle", servers: serious, memory: 1. / 15},
	{name: "hostile-trickle", load: "beside", path: "/hello", conns: 15_000, crowd: "trickle", servers: serious, memory: .25},
	{name: "hostile-silent", load: "beside", path: "/hello", conns: 15_000, crowd: "silent", servers: serious, memory: .25},
	{name: "hostile-slow", load: "beside", path: "/hello", conns: 500, crowd: "slow", servers: serious, memory: 1.1},
	{name: "hostile-flood", load: "beside", path: "/hello", conns: 200, crowd: "flood", servers: serious, memory: 1.1},
	{name: "hostile-resets", load: "beside", path: "/hello", conns: 500, crowd: "resets", servers: serious, memory: 1.1},
	{name: "hostile-smuggle", load: "beside", path: "/hello", conns: 500, crowd: "smuggle", servers: serious, memory: 1.1},
}

// of reports whether r is measured of a server.
func (r row) of(server string) bool {
	if server == "gnet" && r.path == "/sleep" {
		return false // its handlers must not block
	}
	return r.servers == nil || slices.Contains(r.servers, server)
}

// rowsNamed returns the rows of a name, or whose names begin with it: 64k, hostile.
func rowsNamed(name string) (some []row, err error) {
	for _, r := range rows {
		if r.name == name || strings.HasPrefix(r.name, name+"-") {
			some = append(some, r)
		}
	}
	if some == nil {
		err = fmt.Errorf("-only %s is no row", name)
	}
	return some, err
}
