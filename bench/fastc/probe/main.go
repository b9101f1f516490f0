//go:build cgo && linux

// Command probe measures calls of C by one way: what a call takes (calls), or how long the
// collector and a timer wait for loops of calls (stop). It prints values by figure in JSON.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"math"
	"os"
	"time"

	"evenkeel.dev/bench/fastc/sig"
)

// values are by figure.
type values map[string]float64

var ways = map[string]func(sig.Signature) func(int) float64{
	"C":                   func(s sig.Signature) func(int) float64 { return s.C },
	"cgo":                 func(s sig.Signature) func(int) float64 { return s.Cgo },
	"fastc":               func(s sig.Signature) func(int) float64 { return s.Fast },
	"fastc with a budget": func(s sig.Signature) func(int) float64 { return s.Measured },
	"purego":              func(s sig.Signature) func(int) float64 { return s.Purego },
	"fastcgo's technique": func(s sig.Signature) func(int) float64 { return s.Technique },
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("probe: ")
	do := flag.String("do", "calls", "calls or stop")
	way := flag.String("way", "fastc", "`way` to call")
	call := flag.Duration("call", 10*time.Microsecond, "of stop: `time` of a call")
	warmup := flag.Duration("warmup", 0, "of stop: loops and collections before the measured time")
	length := flag.Duration("length", time.Second, "of stop: measured time; of calls: of each signature")
	flag.Parse()
	var v values
	var err error
	switch {
	case *do == "calls" && ways[*way] != nil:
		v = calls(ways[*way], *length)
	case *do == "stop" && loops[*way] != nil:
		v, err = stop(*way, *call, *warmup, *length)
	default:
		log.Fatalf("there is no -way %q that can -do %q", *way, *do)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(v)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// calls measures the nanoseconds of each signature, and what they are beyond those from C.
func calls(way func(sig.Signature) func(int) float64, length time.Duration) values {
	v, product := values{}, 1.
	for _, s := range sig.Signatures {
		loop := way(s)
		if loop == nil {
			continue
		}
		c, ns := perCall(s.C, length/2), perCall(loop, length/2)
		v[s.Name], v[s.Name+", added"] = ns, ns-c
		product *= ns
	}
	v["mean"] = math.Pow(product, 2/float64(len(v)))
	return v
}

// perCall runs a loop for about a turn, and returns nanoseconds per call.
func perCall(loop func(int) float64, turn time.Duration) float64 {
	for n := 1000; ; {
		start := time.Now()
		loop(n)
		took := time.Since(start)
		if took >= turn/2 {
			return float64(took) / float64(n)
		}
		n = int(float64(n) * min(100, 1.2*float64(turn)/float64(took+1)))
	}
}
