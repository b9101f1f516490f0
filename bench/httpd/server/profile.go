//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"log"
	"maps"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"evenkeel.dev/httpd"
)

// serial are functions of package httpd that hold the lock of the whole server, or run in a goroutine
// of which there is one.
var serial = regexp.MustCompile(`evenkeel\.dev/httpd\.(\(\*listener\)\.|` +
	`\(\*server\)\.(arrived|more|live|all|checkEmpty|call|askGuard|endIdle|balance|addLoop)$|\(\*loop\)\.ask$)`)

// profiled prints shares of the CPU time of three seconds, in percent, and the reads of the busiest
// loop over the mean. At the default rate a loop of eight would have too few samples.
func profiled() {
	before := httpd.StatsOf(srv).Reads
	var b bytes.Buffer
	runtime.SetCPUProfileRate(1000) // StartCPUProfile then complains, and leaves it
	if err := pprof.StartCPUProfile(&b); err != nil {
		log.Fatal("server: ", err)
	}
	time.Sleep(3 * time.Second)
	pprof.StopCPUProfile()
	p, err := profile.Parse(&b)
	if err != nil {
		log.Fatal("server: ", err)
	}
	reads := httpd.StatsOf(srv).Reads
	for i := range before {
		reads[i] -= before[i]
	}
	var all, lone float64
	loops := map[string]float64{}
	for _, s := range p.Sample {
		n := float64(s.Value[len(s.Value)-1])
		all += n
		if l := s.Label["httpd_loop"]; len(l) > 0 {
			loops[l[0]] += n
		}
		if isSerial(s) {
			lone += n
		}
	}
	v := map[string]float64{"serial %": 100 * lone / all, "loops": float64(len(reads))}
	if len(loops) > 0 {
		v["busiest loop %"] = 100 * slices.Max(slices.Collect(maps.Values(loops))) / all
	}
	var sum uint64
	for _, n := range reads {
		sum += n
	}
	if sum > 0 {
		v["busiest/mean"] = float64(slices.Max(reads)) * float64(len(reads)) / float64(sum)
	}
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		log.Fatal("server: ", err)
	}
}

func isSerial(s *profile.Sample) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if serial.MatchString(line.Function.Name) {
				return true
			}
		}
	}
	return false
}
