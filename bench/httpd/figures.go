//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/tailstat"
)

func cpu(s sample) float64    { return float64(s.CPU) / 1e3 } // µs
func rate(s sample) float64   { return float64(s.Requests) / s.Seconds }
func idle(s sample) float64   { return s.Bytes }
func failed(s sample) float64 { return float64(s.Failed) }
func memory(s sample) float64 { return float64(s.Memory) }

// of returns what a server reached in a row, by round.
func of(samples []sample, server, row string, value func(sample) float64) (xs []float64, rounds []int) {
	for _, s := range samples {
		if s.Server == server && s.Row == row {
			xs, rounds = append(xs, value(s)), append(rounds, s.Round)
		}
	}
	return xs, rounds
}

// ratios returns a server's value over net/http's in each round that has both.
func ratios(samples []sample, server, row string, value func(sample) float64) (xs []float64) {
	as, rounds := of(samples, server, row, value)
	bs, others := of(samples, base, row, value)
	for i, round := range rounds {
		if k := slices.Index(others, round); k >= 0 && bs[k] > 0 {
			xs = append(xs, as[i]/bs[k])
		}
	}
	return xs
}

// figures holds both backends of httpd against the targets, and says which runs failed. A failed run of a backend that had listened misses that
// all are answered.
func figures(set *figure.Set, samples, failures []sample) {
	for _, s := range failures {
		fmt.Fprintln(set.Out, "failed:", s.failure())
	}
	for _, server := range []string{"httpd-epoll", "httpd-uring"} {
		for _, r := range rows {
			lost, _ := of(samples, server, r.name, failed)
			measured := len(lost) > 0
			for _, s := range failures {
				if s.Server == server && s.Row == r.name && !s.Unready {
					lost = append(lost, max(failed(s), 1))
				}
			}
			if len(lost) == 0 {
				continue
			}
			name := server + ", " + r.name + ": "
			set.AtMost(name+"connections without an answer", []float64{slices.Max(lost)}, 0, "")
			if !measured {
				continue
			}
			switch r.load {
			case "hold":
				if r.h2 { // nothing is saved, and nothing added
					set.AtMost(name+"bytes of a connection over net/http", ratios(samples, server, r.name, idle), 1.1, "x")
					continue
				}
				xs, _ := of(samples, server, r.name, idle)
				most := 700.
				if r.tls {
					most = 6000
				}
				set.AtMost(name+"bytes of a connection", xs, most, "B")
			case "beside":
				set.AtMost(name+"memory over net/http", ratios(samples, server, r.name, memory), r.memory, "x")
				set.AtLeast(name+"requests/s over net/http", ratios(samples, server, r.name, rate), .9, "x")
				set.NotSlower(server+", "+r.name, "net/http", tails(samples, base, r.name), tails(samples, server, r.name))
			case "burst":
				xs, _ := of(samples, server, r.name, cpu)
				set.AtMost(name+"CPU of a connection", xs, 60, "µs")
				set.AtLeast(name+"rate over net/http", ratios(samples, server, r.name, rate), 1.5, "x")
			default:
				most := .9
				if r.tls || strings.HasPrefix(r.path, "/cpu") { // the handler's own time is in both
					most = 1
				}
				if r.path == "/sleep" {
					most = 1.05
					set.AtLeast(name+"requests/s over net/http", ratios(samples, server, r.name, rate), .95, "x")
				}
				set.AtMost(name+"CPU a request over net/http", ratios(samples, server, r.name, cpu), most, "x")
				set.NotSlower(server+", "+r.name, "net/http", tails(samples, base, r.name), tails(samples, server, r.name))
			}
		}
	}
}

// tails returns the tails of a server's runs of a row.
func tails(samples []sample, server, row string) (runs []tailstat.Run) {
	for _, s := range samples {
		if s.Server == server && s.Row == row && s.P99 > 0 {
			runs = append(runs, figure.Tail(s.Round, s.P99, s.P999))
		}
	}
	return runs
}

// core is how many bytes of memory cost as much as a processor: 4 GiB on most machines that are for rent.
const core = 4 << 30

// breakEven prints from how many idle connections on each backend of httpd pays, by the medians: docs/guides/httpd.md has the formula.
func breakEven(samples []sample, out io.Writer) {
	median := func(server, row string, value func(sample) float64) float64 {
		xs, _ := of(samples, server, row, value)
		return figure.Median(xs)
	}
	for _, server := range []string{"httpd-epoll", "httpd-uring"} {
		keeps := median(server, "idle", idle)
		saved := median(base, "idle", idle) - keeps // bytes a connection
		for _, r := range rows {
			was, is := median(base, r.name, cpu), median(server, r.name, cpu)
			switch {
			case r.load != "closed" || r.tls || keeps == 0 || saved <= 0 || was == 0 || is == 0:
			case is <= was:
				fmt.Fprintf(out, "%s, %s: %.1f µs of CPU less a request: pays with any number of idle connections\n", server, r.name, was-is)
			default:
				fmt.Fprintf(out, "%s, %s: %.1f µs of CPU more a request: pays from %.2g idle connections for each request a second on\n",
					server, r.name, is-was, (is-was)/1e6*core/saved)
			}
		}
	}
}

// tables prints the medians of each row and server.
func tables(samples []sample, out io.Writer) {
	for _, r := range rows {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		head := false
		for _, server := range servers {
			if xs, _ := of(samples, server, r.name, rate); len(xs) == 0 {
				continue
			}
			median := func(value func(sample) float64) float64 {
				xs, _ := of(samples, server, r.name, value)
				return figure.Median(xs)
			}
			if !head {
				head = true
				fmt.Fprintf(w, "\n%s, %d connections\n", r.name, r.conns)
				fmt.Fprintln(w, map[bool]string{true: "\tbytes each\t", false: strings.Join([]string{"", "requests/s", "CPU µs", "p50 ms", "p99 ms", "p99.9 ms", "client %", "failed", "MiB", ""}, "\t")}[r.load == "hold"])
			}
			if r.load == "hold" {
				fmt.Fprintf(w, "%s\t%.0f\t\n", server, median(idle))
				continue
			}
			fmt.Fprintf(w, "%s\t%.0f\t%.1f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t%s\t\n", server, median(rate), median(cpu),
				median(func(s sample) float64 { return s.P50.Seconds() * 1e3 }), median(func(s sample) float64 { return s.P99.Seconds() * 1e3 }),
				median(func(s sample) float64 { return s.P999.Seconds() * 1e3 }), median(func(s sample) float64 { return 100 * s.Client }), median(failed), mebibytes(median(memory)))
		}
		_ = w.Flush()
	}
	breakEven(samples, out)
}

// mebibytes has nothing for what was not measured.
func mebibytes(bytes float64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", bytes/(1<<20))
}

// judge adds the figures of a recorded file.
func judge(set *figure.Set, raw figure.Recorded) error {
	var samples, failures []sample
	if _, err := raw.Read("runs", &samples); err != nil {
		return err
	}
	if _, err := raw.Read("failed", &failures); err != nil { // older results do not have them
		return err
	}
	if len(samples)+len(failures) == 0 {
		return errors.New("no samples")
	}
	tables(samples, set.Out)
	figures(set, samples, failures)
	return nil
}
