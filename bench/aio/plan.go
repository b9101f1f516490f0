package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// point is what one run measures of a server.
type point struct {
	workload string
	size     int // bytes of a message
	conns    int
}

func (p point) String() string {
	return fmt.Sprintf("%s, %d B, %d connections", p.workload, p.size, p.conns)
}

// load is a workload: its points and the servers that it is for.
type load struct {
	points  []point
	servers []server
	rounds  int
}

// pingpongConns are the numbers of connections of the ping-pong.
var pingpongConns = []int{1, 100, 1000, 8000}

// Where only one number of connections is measured.
const (
	burstConns   = 8192
	idleConns    = 8000
	sleeperConns = 100
)

// choose fills in what flags leave open.
func (d *driver) choose(part, only, servers string, given map[string]bool) error {
	d.warmup = 200 * time.Millisecond
	if d.quick {
		d.warmup = 100 * time.Millisecond
		if d.rounds == 0 {
			d.rounds = 2
		}
		if !given["length"] {
			d.length = 400 * time.Millisecond
		}
	}
	var err error
	if d.servers, err = pick(servers, "-servers", allServers, func(s server) string { return s.name }); err != nil {
		return err
	}
	if servers == "" && !d.exists("cepoll") {
		fmt.Fprintln(d.out, "cepoll is left out: it is not built, which takes a C compiler named cc")
		d.servers = slices.DeleteFunc(slices.Clone(d.servers), func(s server) bool { return s.name == cepoll })
	}
	chosen, err := d.chosenWorkloads(part, only)
	if err != nil {
		return err
	}
	all := d.rounds
	for _, w := range chosen {
		l := load{points: d.points(w), servers: d.suited(w), rounds: cmp.Or(all, partOf(w).rounds)}
		if len(l.servers) > 0 {
			d.loads = append(d.loads, l)
			d.rounds = max(d.rounds, l.rounds)
		}
	}
	return nil
}

// pick returns those of all that a flag's comma-separated names choose.
func pick[T any](list, name string, all []T, named func(T) string) ([]T, error) {
	if list == "" {
		return all, nil
	}
	var chosen []T
	for s := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(t T) bool { return named(t) == s })
		if i < 0 {
			var known []string
			for _, t := range all {
				known = append(known, named(t))
			}
			return nil, fmt.Errorf("%s %s is not known: it is one of %s", name, s, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// points returns what is measured of a workload.
func (d *driver) points(workload string) (ps []point) {
	if r, ok := rows[workload]; ok {
		return []point{r.point}
	}
	switch workload {
	case "echo64k":
		return []point{{workload, 64 << 10, 1}}
	case "burst":
		return []point{{workload, 1024, burstConns}}
	case "idle":
		return []point{{workload, 64, idleConns}}
	case "sleeper":
		return []point{{workload, 64, sleeperConns}}
	case "regression":
		steps := 12
		if d.quick {
			steps = 5
		}
		for i := range steps {
			ps = append(ps, point{workload, 1024, 500 + i*7500/(steps-1)})
		}
		return ps
	}
	for _, size := range []int{64, 512} {
		for _, n := range pingpongConns {
			if size == 512 && d.quick && n != 100 {
				continue
			}
			ps = append(ps, point{workload, size, n})
		}
	}
	return ps
}

// suited returns the servers that a workload is for.
func (d *driver) suited(workload string) []server {
	return slices.DeleteFunc(slices.Clone(d.servers), func(s server) bool {
		if r, ok := rows[workload]; ok || s.rare {
			return !slices.Contains(r.servers, s.name)
		}
		switch workload {
		case "idle", "pingpong":
			return false
		case "sleeper":
			return s.info || s.kind == "" // no goroutine sleeps in C
		case "regression":
			return s.info || s.kind != "gaio" && s.kind != "aio" // gaio's picture
		}
		return s.info
	})
}

// traced is how long system calls are counted at p.
func (d *driver) traced(p point) time.Duration {
	if p.workload != "pingpong" || p.size != 64 {
		return 0
	}
	return min(time.Duration(200+p.conns/20)*time.Millisecond, d.length) // every connection has its turns
}

// estimate is about how long a run at p takes: two processes start and end, connections are
// made, and then comes what is measured.
func (d *driver) estimate(p point) time.Duration {
	t := 150*time.Millisecond + time.Duration(p.conns)*90*time.Microsecond
	if r, ok := rows[p.workload]; ok {
		return t + r.takes
	}
	switch p.workload {
	case "burst", "regression":
		return t
	case "idle":
		return t + 500*time.Millisecond
	}
	return t + d.warmup + d.length + d.traced(p)
}

// printPlan says what will run, and until when.
func (d *driver) printPlan() {
	var runs int
	var all time.Duration
	for _, l := range d.loads {
		n := len(l.servers) * l.rounds
		runs += n * len(l.points)
		for _, p := range l.points {
			all += time.Duration(n) * d.estimate(p)
		}
	}
	fmt.Fprintf(d.out, "%d rounds at most, %d runs, about %v: until %s. aio's default backend here is %s.\n\n", d.rounds, runs,
		all.Round(time.Second), time.Now().Add(all).Format("15:04:05"), strings.TrimPrefix(d.raw.Default, "aio-"))
}
