// Command plot draws latencies as a histogram and as the fraction of requests that took longer
// (CCDF), one colour a label: what clients have seen, as evenkeel load or a part of bench/gate has recorded it, or what
// handlers took, from an access log of Gin. The script of examples/fastcserver runs it.
//
//	go run ./fastc/plot -o ../docs/img/wholepath.png -ccdf -only 'net/http,httpd gated' results/gate-wholepath-DATE.json
//	go run ./fastc/plot -o latency.png cgo-1.json fastc-1.json cgo-2.json fastc-2.json
//	go run ./fastc/plot -o handlers.png -only /cgo/62/2,/blockcall/62/2 server.log
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/bench/fastc/ginlog"
	"evenkeel.dev/loadgen"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run returns the exit code.
func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("plot", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("o", "latency.png", "`file` to write; its ending (png, svg, pdf) is its format")
	title := flags.String("title", "Latency as clients see it", "`text` above the picture")
	only := flags.String("only", "", "draw these `labels` alone, with commas between them, and in this order; a comma in a label is left out")
	ccdf := flags.Bool("ccdf", false, "draw no histogram, the CCDF alone")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "plot [flags] FILE...\n\nEach FILE is what evenkeel load -o or a part of bench/gate wrote, or an access log of Gin, whose labels are its paths.\nRuns of one label are counted together.\n\nFlags:")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2 // flags has said why
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(stderr, "plot: name the files of evenkeel load -o, or of Gin's access log")
		return 2
	}
	all, err := readAll(flags.Args())
	if err == nil {
		all, err = choose(all, *only)
	}
	if err != nil {
		fmt.Fprintf(stderr, "plot: %v\n", err)
		return 1
	}
	if err := draw(all, *title, *out, *ccdf); err != nil {
		fmt.Fprintf(stderr, "plot: %v\n", err)
		return 1
	}
	return 0
}

// series is what the runs of one label have recorded.
type series struct {
	label   string
	latency *loadgen.Histogram
}

// readAll reads files, and returns a series a label in the order of the first.
func readAll(names []string) ([]series, error) {
	var all []series
	for _, name := range names {
		read, err := read(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: give a file of evenkeel load -o, or an access log of Gin", name, err)
		}
		for _, s := range read {
			if i := slices.IndexFunc(all, func(have series) bool { return have.label == s.label }); i >= 0 {
				all[i].latency.Merge(s.latency)
			} else {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// choose returns the series that the flag -only names, or all, as far as there are colours.
func choose(all []series, only string) ([]series, error) {
	chosen := all
	if only != "" {
		chosen = nil
		for label := range strings.SplitSeq(only, ",") {
			i := slices.IndexFunc(all, func(s series) bool { return strings.ReplaceAll(s.label, ",", "") == label })
			if i < 0 {
				return nil, fmt.Errorf("-only: nothing has the label %q; there is %s", label, labels(all))
			}
			chosen = append(chosen, all[i])
		}
	}
	if len(chosen) > len(colours) {
		return nil, fmt.Errorf("there are colours for %d labels: choose with -only from %s", len(colours), labels(chosen))
	}
	return chosen, nil
}

func labels(all []series) string {
	var names []string
	for _, s := range all {
		names = append(names, strings.ReplaceAll(s.label, ",", ""))
	}
	return strings.Join(names, ", ")
}

// read returns what a file holds: the first run of a JSON object, the modes of a part of bench/gate, or the paths of an access log.
func read(name string) ([]series, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []series
	if strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		all, err = readRun(text)
	} else {
		all, err = readLog(text)
	}
	if err == nil && len(all) == 0 {
		err = errors.New("no latencies")
	}
	return all, err
}

func readRun(text []byte) ([]series, error) {
	var file struct {
		Runs []struct {
			Label string
			Load  loadgen.Result
		}
		Raw struct{ Runs []gateRun }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if runs := file.Raw.Runs; len(runs) > 0 {
		return modes(runs), nil
	}
	if len(file.Runs) == 0 || file.Runs[0].Load.Latency.Count() == 0 {
		return nil, nil
	}
	return []series{{file.Runs[0].Label, &file.Runs[0].Load.Latency}}, nil
}

// gateRun is what is drawn of a run of bench/gate.
type gateRun struct {
	Mode    string
	Try     int
	Latency loadgen.Histogram
}

// modes returns a series a mode, without the runs that were repeated as the machine had disturbed them.
func modes(runs []gateRun) (all []series) {
	for i, r := range runs {
		if i+1 < len(runs) && runs[i+1].Try > r.Try {
			continue
		}
		at := slices.IndexFunc(all, func(s series) bool { return s.label == r.Mode })
		if at < 0 {
			at = len(all)
			all = append(all, series{r.Mode, new(loadgen.Histogram)})
		}
		all[at].latency.Merge(&r.Latency)
	}
	return all
}

func readLog(text []byte) ([]series, error) {
	handlers, err := ginlog.Read(text)
	var all []series
	for _, h := range handlers {
		all = append(all, series{h.Path, &h.Times})
	}
	return all, err
}

// binsPerDecade is how fine the histogram is.
const binsPerDecade = 20

// bin is a bar of the histogram: from low to high in milliseconds, and the percentage in it.
type bin struct{ low, high, percent float64 }

// bins counts latencies in bars of equal width on a logarithmic axis, without gaps.
func bins(h *loadgen.Histogram) []bin {
	counts, first, last := map[int]int64{}, math.MaxInt, math.MinInt
	for d, n := range h.All() {
		i := int(math.Floor(math.Log10(millis(d)) * binsPerDecade))
		counts[i] += n
		first, last = min(first, i), max(last, i)
	}
	var all []bin
	for i := first; i <= last; i++ {
		at := func(i int) float64 { return math.Pow(10, float64(i)/binsPerDecade) }
		all = append(all, bin{at(i), at(i + 1), 100 * float64(counts[i]) / float64(h.Count())})
	}
	return all
}

// point is a step of the CCDF: the fraction of requests that took longer than ms.
type point struct{ ms, longer float64 }

// ccdf returns a step for each latency but the longest, which nothing exceeds.
func ccdf(h *loadgen.Histogram) []point {
	var points []point
	left := h.Count()
	for d, n := range h.All() {
		if left -= n; left > 0 {
			points = append(points, point{millis(d), float64(left) / float64(h.Count())})
		}
	}
	return points
}

func millis(d time.Duration) float64 { return float64(max(d, 1)) / float64(time.Millisecond) }
