// Command gen makes a program's standard error with gctrace lines in it, for the golden
// files of gctrace. It builds with every Go release since 1.21; testdata/gen.sh runs it.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"time"
)

var (
	sink     [8][]byte
	retained [][]byte
)

func main() {
	mode := flag.String("mode", "alloc", "alloc, forced, lines, pieces, leak or off")
	flag.Parse()
	switch *mode {
	case "alloc":
		alloc(40)
		runtime.GC() // not forced where the pacer has just begun the cycle that it waits for
		runtime.GC()
	case "forced":
		for range [6]int{} {
			alloc(2)
			runtime.GC()
		}
		debug.FreeOSMemory()
	case "lines":
		amid(4, 90, logLines)
	case "pieces":
		amid(2, 120, pieces)
	case "leak":
		leak()
	case "off":
		debug.SetGCPercent(-1)
		alloc(4)
		runtime.GC()
		runtime.GC()
	default:
		log.Fatalf("gen: unknown -mode %q", *mode)
	}
}

// alloc makes garbage on two goroutines over a heap that is kept, n times 4 MiB each.
func alloc(n int) {
	if retained == nil {
		for range [64]int{} {
			retained = append(retained, make([]byte, 128<<10))
		}
	}
	var wg sync.WaitGroup
	for g := 0; g < 2; g++ {
		wg.Add(1)
		go func(g int) {
			defer wg.Done()
			for i := 0; i < n*64; i++ {
				sink[g] = make([]byte, 64<<10)
			}
		}(g)
	}
	wg.Wait()
}

// amid collects while goroutines write to standard error, n times each.
func amid(writers, n int, write func(id, i int)) {
	var wg sync.WaitGroup
	for id := 0; id < writers; id++ {
		wg.Add(1)
		go func(id int) {
			defer wg.Done()
			for i := 0; i < n; i++ {
				write(id, i)
				if i%8 == 7 {
					time.Sleep(200 * time.Microsecond)
				}
			}
		}(id)
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		alloc(1)
		runtime.GC()
		select {
		case <-done:
			runtime.GC()
			return
		default:
		}
	}
}

var (
	std    = log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds)
	asJSON = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	asText = slog.New(slog.NewTextHandler(os.Stderr, nil))
)

// logLines writes whole lines, each with one write(2), as loggers do.
func logLines(id, i int) {
	switch id {
	case 0:
		std.Printf("request %d done in %d µs", i, 100+i)
	case 1:
		asJSON.Info("request", "id", i, "path", "/search", "status", 200)
	case 2:
		asText.Info("gc pressure", "id", i, "path", "/search")
	default:
		fmt.Fprintf(os.Stderr, "worker %d: step %d\n", id, i)
	}
}

// pieces also writes text without a newline, as progress displays do.
func pieces(id, i int) {
	switch {
	case id == 0 && i%40 == 39:
		io.WriteString(os.Stderr, " done\n")
	case id == 0:
		io.WriteString(os.Stderr, ".")
	default:
		std.Printf("step %d", i)
	}
}

// leak asks for the goroutines that can never run again; before Go 1.26 and without
// GOEXPERIMENT=goroutineleakprofile there is no such profile.
func leak() {
	for range [3]int{} {
		go func() { <-make(chan int) }()
	}
	alloc(2)
	p := pprof.Lookup("goroutineleak")
	if p == nil {
		log.Fatal("gen: no goroutineleak profile: build with Go 1.26 and GOEXPERIMENT=goroutineleakprofile")
	}
	for range [2]int{} {
		p.WriteTo(io.Discard, 0)
		alloc(2)
	}
}
