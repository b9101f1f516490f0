package main

import (
	"os"
	"strconv"
	"strings"
)

// counters are what the kernel counts of packets that it drops and sends again, by their names in /proc/net/netstat, and what they are called in
// results. They are of the whole network namespace: what else runs in it counts, too.
var counters = map[string]string{
	"TCPSynRetrans":   "syn_again",        // a SYN was sent again, after a second
	"TCPTimeouts":     "timeouts",         // anything was
	"ListenOverflows": "listen_overflows", // a queue of accept(2) was full
	"ListenDrops":     "listen_drops",     // a SYN was dropped for that or another reason
}

// drops returns them as they are now; what cannot be read is left out.
func drops() map[string]float64 {
	d := map[string]float64{}
	text, _ := os.ReadFile("/proc/self/net/netstat")
	lines := strings.Split(string(text), "\n")
	for i := 0; i+1 < len(lines); i += 2 { // names, and below them values
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		for j, name := range names {
			if called := counters[name]; called != "" && j < len(values) {
				d[called], _ = strconv.ParseFloat(values[j], 64)
			}
		}
	}
	text, _ = os.ReadFile("/proc/net/softnet_stat") // a line a processor, in hex
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 {
			n, _ := strconv.ParseUint(f[1], 16, 32)
			d["backlog_drops"] += float64(n) // beyond net.core.netdev_max_backlog packets, which loopback queues, too
		}
	}
	return d
}

// since returns what was dropped after before.
func since(before map[string]float64) map[string]float64 {
	d := drops()
	for name := range d {
		d[name] -= before[name]
	}
	return d
}
