package main

import (
	"fmt"
	"io"
	"strings"

	"evenkeel.dev/bench/figure"
)

// rowTables are those of the parts accept, idle and hostile.
var rowTables = []table{
	{
		"accept", "connections that are accepted and kept; the last 16,000 count",
		[]column{{"CPU µs", milli(value("cpu_ns")), "%.2f"}, {"allocations", value("allocs"), "%.2f"}},
		"",
	},
	{
		"rush", "clients that connect at once, send once and read it back",
		[]column{{"a second", rate, "%.0f"}, {"wall ms", wall, "%.0f"}, {"CPU µs", cpu, "%.1f"}, {"stalls", stalls, "%.0f"}},
		"",
	},
	{"idle18k", "idle connections that have spoken once", bytesEach, ""},
	{
		"closed", "writes, then Close",
		[]column{{"complete", value("complete"), "%.0f"}, {"of", func(s sample) float64 { return float64(s.Messages) }, "%.0f"}},
		"",
	},
	{
		"slowcalls", "ping-pong beside goroutines in system calls of 150 ms",
		[]column{{"p99 ms", milli(p99), "%.2f"}, {"p50 ms", milli(p50), "%.2f"}, {"longest ms", milli(slowest), "%.1f"}, {"msg/s", rate, "%.0f"}},
		"",
	},
	deadlineTable("up", "in their order"),
	deadlineTable("random", "in random order"),
	deadlineTable("down", "in reverse order"),
	{
		"queued", "a small write beside 1,000 queued on each other connection",
		[]column{{"longest ms", value("max_ms"), "%.1f"}, {"mean ms", value("mean_ms"), "%.2f"}, {"small writes", value("small"), "%.0f"}},
		"",
	},
	{
		"unread", "new connections, from connect to the first answer, beside those that do not read",
		[]column{{"longest ms", milli(slowest), "%.1f"}, {"p50 ms", milli(p50), "%.2f"}, {"new ones", func(s sample) float64 { return float64(s.Messages) }, "%.0f"}, {"SYNs again", value("syn_again"), "%.0f"}},
		"",
	},
	{
		"bulk", "ping-pong on one connection beside others that send as fast as they can",
		[]column{{"p50 µs", p50, "%.0f"}, {"p99 µs", p99, "%.0f"}, {"bulk MB/s", value("bulk_mb_s"), "%.0f"}},
		"",
	},
	{
		"short", "reads without a buffer of messages of 100 B to 30 KB",
		[]column{{"messages cut", value("short"), "%.0f"}, {"messages", func(s sample) float64 { return float64(s.Messages) }, "%.0f"}},
		"",
	},
	{
		"crowd", "clients that connect at once, send once and read it back",
		[]column{{"stalls", stalls, "%.0f"}, {"wall ms", wall, "%.0f"}, {"p99 µs", p99, "%.0f"}, {"SYNs again", value("syn_again"), "%.0f"}},
		"",
	},
	{
		"swapreads", "reads without a buffer, with the default swap buffer",
		[]column{{"reads a message", perMessage("reads"), "%.3f"}, {"msg/s", rate, "%.0f"}},
		"",
	},
}

func deadlineTable(order, how string) table {
	return table{
		"deadlines-" + order, "1,000 reads of each silent peer, with deadlines 10 µs apart, submitted " + how,
		[]column{{"latest ms", value("late_ms"), "%.1f"}, {"WaitIO silent ms", value("gap_ms"), "%.1f"}, {"early", value("early"), "%.0f"}},
		"",
	}
}

// figureTable prints the figures as the guide has them.
func figureTable(set *figure.Set, out io.Writer) {
	fmt.Fprintf(out, "\n| figure | measured | target | |\n|---|---|---|---|\n")
	for _, f := range set.Figures {
		within := f.Interval
		if within == nil {
			within = f.Range
		}
		text := fmt.Sprintf("%.4g", f.Measured)
		if unit := strings.TrimSpace(f.Unit); unit != "" && unit != "x" {
			text += " " + unit
		}
		if len(within) == 2 {
			text += fmt.Sprintf(" [%.4g to %.4g]", within[0], within[1])
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", f.Name, text, f.Target, f.Verdict)
	}
}
