package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// mode is one way to run the replicas, and to reach them.
type mode struct {
	name     string
	what     string   // for the reader
	front    string   // of [fronts]; "": the client spreads the requests itself
	program  string   // default msgpush
	work     []string // the program's workload; nil: the driver's
	path     string   // of a request; default /push
	all      bool     // the process may use all cores, not one
	env      []string // for the replicas
	args     func(p place) []string
	rival    bool   // no target hangs on it
	original bool   // its program is what buildOriginal built
	memory   bool   // needs to know what a gated replica takes
	counts   bool   // it is a subject with a gate
	quota    bool   // the replicas have a quota of CPU time
	grpc     bool   // it is called over gRPC
	streams  int    // that are open beside it
	waits    bool   // a call waits for a replica that serves; there are no turns
	raft     bool   // it is three members of raftkv
	leads    bool   // the first member has to lead
	stalls   bool   // a follower stands still now and then
	law      bool   // the replicas share a turn that is held against the law
	idle     int    // connections that each replica has besides, with nothing to say
	under    string // the only load of its part under which it is measured; "": each
}

// place is what a replica must know of its surroundings.
type place struct {
	replica int    // from 0
	window  int    // of a member of the Raft group
	socket  string // address of HAProxy's runtime API
	turns   string // file
	etcd    string // endpoint
	grpc    string // address to serve gRPC at
	members string // URLs of the Raft group
	memory  int64  // what a gated replica took at most
	warm    int64  // what a floor takes from the system at its start, MiB
}

func (p place) server() string { return fmt.Sprintf("%s,be/%c", p.socket, 'a'+p.replica) }

// inTurn adds the flags of two replicas that take turns.
func (p place) inTurn(args ...string) []string {
	return append(args, "-turns", p.turns, "-replicas", "2")
}

// modes are two replicas behind a balancer, or without one.
var modes = []mode{
	{name: "default", what: "the stock runtime", front: haproxy},
	{name: "gated", what: "policy drain, HAProxy's runtime API, turns by a file", front: haproxy, args: func(p place) []string {
		return p.inTurn("-gate=drain", "-haproxy", p.server())
	}},
	{name: "off", what: "GOGC=off: no collection at all", front: haproxy, env: []string{"GOGC=off"}},
	floor(mode{rival: true, front: haproxy}),
	{name: "in-band", what: "policy drain, no balancer: the client reads the answers' headers", args: func(p place) []string {
		return p.inTurn("-gate=drain", "-inband")
	}},
	{name: "off, no balancer", what: "GOGC=off, the same client", env: []string{"GOGC=off"}},
	{name: "GOGC=400", rival: true, what: "collects a quarter as often", front: haproxy, env: []string{"GOGC=400"}},
	{name: "GOMEMLIMIT", rival: true, what: "GOGC=off with GOMEMLIMIT at the memory of gated", front: haproxy, memory: true},
	{name: "automemlimit", rival: true, what: "that memory as the limit of the container", front: haproxy, program: "peer", memory: true, args: func(p place) []string {
		return []string{"-automemlimit", fmt.Sprint(p.memory)}
	}},
	{name: "gctuner", rival: true, what: "bytedance/gopkg's, that memory as the limit of the container", front: haproxy, program: "peer", memory: true, args: func(p place) []string {
		return []string{"-gctuner", fmt.Sprint(p.memory)}
	}},
	{name: "503 and retry", rival: true, what: "the original way: refuse with 503, HAProxy tries the other; no turns", front: haproxyRetry, args: func(place) []string {
		return []string{"-gate=shed", "-no-turns"}
	}},
	{name: "nginx default", rival: true, what: "the stock runtime", front: nginx},
	{name: "nginx gated", rival: true, what: "policy shed, proxy_next_upstream http_503, turns by a file", front: nginx, args: func(p place) []string {
		return p.inTurn("-gate=shed")
	}},
}

// single are one replica that the client asks directly.
var single = []mode{
	{name: "default", what: "the stock runtime"},
	{name: "through", what: "policy through", args: func(place) []string { return []string{"-gate=through"} }},
	{name: "idle", what: "policy idle", args: func(place) []string { return []string{"-gate=idle"} }},
	{name: "auto", what: "policy auto, which chooses; it has 2 GiB", args: func(place) []string { return []string{"-gate", "-limit", "2GiB"} }},
}

func modeNamed(in []mode, name string) mode {
	return in[slices.IndexFunc(in, func(m mode) bool { return m.name == name })]
}

// choose returns the modes whose names stand in a comma-separated list, all for "". A comma in
// a name is left out: "off no balancer".
func choose(list string) ([]mode, error) {
	if list == "" {
		return modes, nil
	}
	var chosen []mode
	for _, name := range strings.Split(list, ",") {
		i := slices.IndexFunc(modes, func(m mode) bool {
			return strings.ReplaceAll(m.name, ",", "") == strings.TrimSpace(name)
		})
		if i < 0 {
			var names []string
			for _, m := range modes {
				names = append(names, strings.ReplaceAll(m.name, ",", ""))
			}
			return nil, fmt.Errorf("-modes: no mode %q; they are %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, modes[i])
	}
	return chosen, nil
}

// environment is what a replica's environment has beside the driver's.
func (m mode) environment(p place) []string {
	env := m.env
	if !m.all {
		env = append([]string{"GOMAXPROCS=1"}, env...)
	}
	if m.name == "GOMEMLIMIT" {
		env = append(env, "GOGC=off", fmt.Sprintf("GOMEMLIMIT=%d", p.memory))
	}
	return env
}

func (m mode) arguments(p place) []string {
	if m.args == nil {
		return nil
	}
	return m.args(p)
}

// binary returns the path of the mode's program.
func (d *driver) binary(m mode) string {
	if m.original {
		return d.program
	}
	return filepath.Join(d.bin, cmp.Or(m.program, "msgpush"))
}

func (m mode) target() string {
	if m.path == "" {
		return "/push"
	}
	return m.path
}
