//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package sys

import (
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// zoneFor is for how long the name of an interface holds, as in package net (interface.go).
const zoneFor = time.Minute

// zones are the names of interfaces: zone by index.
var zones sync.Map

type zone struct {
	name string
	read time.Time
}

// withZone is addr in the zone of an interface, by that one's name as package net has it; by its
// index where it has none.
func withZone(addr netip.Addr, index uint32) netip.Addr {
	if index == 0 {
		return addr
	}
	z, ok := zones.Load(index)
	if !ok || time.Since(z.(zone).read) > zoneFor {
		name := strconv.FormatUint(uint64(index), 10)
		if i, err := net.InterfaceByIndex(int(index)); err == nil {
			name = i.Name
		}
		z = zone{name, time.Now()}
		zones.Store(index, z)
	}
	return addr.WithZone(z.(zone).name)
}
