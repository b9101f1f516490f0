// Command gen runs load tools on a server of its own, and keeps what they write: gen TOOLS FOLDER.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

func main() {
	log.SetFlags(0)
	tools, folder := os.Args[1], os.Args[2]
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := n.Add(1)
		time.Sleep(time.Duration(1+i%7) * time.Millisecond)
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
			return
		}
		if i%9 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, "hello")
	}))
	defer server.Close()
	in := func(name string) string { return filepath.Join(folder, name) }
	vegeta(filepath.Join(tools, "vegeta"), server.URL, in)
	hdrLog(in("hdr-go.hlog"))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// run runs a tool with an input, and returns what it prints.
func run(stdin, tool string, args ...string) []byte {
	cmd := exec.Command(tool, args...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatalf("%s %v: %v", tool, args, err)
	}
	return out
}

// vegeta keeps results of requests that are answered, that take too long, and that nobody listens for.
func vegeta(tool, url string, in func(string) string) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	nobody := "http://" + closed.Addr().String() + "/"
	closed.Close()
	targets := strings.Repeat("GET "+url+"/a\n\nGET "+url+"/b\n\n", 4) + "GET " + url + "/slow\n\nGET " + nobody + "\n"
	results := run(targets, tool, "attack", "-rate=100", "-duration=400ms", "-timeout=200ms")
	check(os.WriteFile(in("vegeta.gob"), results, 0o644))
	for name, args := range map[string][]string{
		"vegeta.ndjson": {"encode", "--to=json"}, "vegeta-report.json": {"report", "--type=json"},
	} {
		check(os.WriteFile(in(name), run(string(results), tool, args...), 0o644))
	}
}

// hdrLog writes a log of two tags, of 3 s in intervals of 200 ms.
func hdrLog(name string) {
	f, err := os.Create(name)
	check(err)
	defer f.Close()
	rnd := rand.New(rand.NewPCG(1, 0))
	w := hdr.NewHistogramLogWriter(f)
	start := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC).UnixMilli()
	check(w.OutputComment("[written by hdrhistogram-go]"))
	check(w.OutputLogFormatVersion())
	check(w.OutputStartTime(start))
	check(w.OutputLegend())
	for i := range int64(15) {
		for _, tag := range []string{"", "reads"} {
			h := hdr.New(1, int64(time.Minute), 3)
			for range 50 {
				check(h.RecordValue(int64(rnd.ExpFloat64() * 2e6)))
			}
			h.SetTag(tag)
			h.SetStartTimeMs(start + 200*i)
			h.SetEndTimeMs(start + 200*(i+1))
			check(w.OutputIntervalHistogram(h))
		}
	}
}
