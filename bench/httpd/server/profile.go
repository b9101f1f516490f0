package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"
)

// serial are functions of package httpd that hold the lock of the whole server, or run in a goroutine
// of which there is one.
var serial = regexp.MustCompile(`evenkeel\.dev/httpd\.(\(\*listener\)\.|` +
	`\(\*server\)\.(arrived|more|live|all|checkEmpty|call|askGuard|endIdle|balance|addLoop)$|\(\*loop\)\.ask$)`)

// profiled prints shares of the CPU time of three seconds, in percent, and the busiest loop over the
// mean. At the default rate a loop of eight would have too few samples.
func profiled() {
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
	var all, lone, looped float64
	loops := map[string]float64{}
	for _, s := range p.Sample {
		n := float64(s.Value[len(s.Value)-1])
		all += n
		if l := s.Label["httpd_loop"]; len(l) > 0 {
			loops[l[0]] += n
			looped += n
		}
		if isSerial(s) {
			lone += n
		}
	}
	busiest := 0.0
	for _, n := range loops {
		busiest = max(busiest, n)
	}
	v := map[string]float64{"serial %": 100 * lone / all, "loops": float64(len(loops))}
	if len(loops) > 0 {
		v["busiest loop %"] = 100 * busiest / all
		v["busiest/mean"] = busiest * float64(len(loops)) / looped
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
