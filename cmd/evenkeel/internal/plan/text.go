package plan

import (
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/plan/outlook"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gcgate/capacity"
	"evenkeel.dev/internal/textfmt"
)

func (p *Plan) judge() {
	for _, o := range p.Ways {
		if o.TooLarge {
			p.note("%v: the heap does not stay below %s, so the runtime would collect without end", o.Way,
				textfmt.Bytes(p.MemoryBytes))
		}
		switch {
		case o.Headroom.IsZero() || o.Headroom.Low >= 1:
		case o.Headroom.High < 1:
			p.note("%v: the replicas are past the knee: the load is more than they serve without long queues", o.Way)
		default:
			p.note("%v: the replicas may be past the knee", o.Way)
		}
	}
	gated := p.Ways[outlook.Gated]
	const more = "let more replicas collect at once (-k), give each more memory, or allocate less"
	switch {
	case gated.TurnLoad.Low > 1:
		p.note("the turns do not suffice, so heaps grow to their hard threshold; %s", more)
	case gated.TurnLoad.High > capacity.EasyLoad:
		p.note("the turns may not suffice: above a load of %g collections wait for one another; %s", capacity.EasyLoad,
			more)
	}
	if gated.Spare > 0 && gated.Wait.High > gated.Spare {
		p.note("if all replicas want the turn at once, the last waits %s, but its heap reaches the hard threshold in "+
			"%s; set gcgate.Options.Replicas for an earlier trigger, or give it more memory",
			secondsRange(gated.Wait), secondsText(gated.Spare))
	}
}

// Line says what a variant needs, alone and behind gates, or "".
func Line(runs []*runfile.Run) string {
	var sum runSum
	for _, r := range runs {
		sum.add(r)
	}
	p, err := sum.plan("")
	if err != nil || p.measured == 0 || p.scale(&Options{}) != nil {
		return ""
	}
	ways, err := outlook.Compare(p.service, p.options)
	if err != nil {
		return ""
	}
	stock, gated := &ways[outlook.GOGC100], &ways[outlook.Gated]
	figures := func(o *outlook.Outlook, replicas, share string) string {
		return rangeText(o.Needed, textfmt.Count) + replicas + ", " + rangeText(o.MemoryInAll, textfmt.Bytes) +
			" in all, " + rangeText(o.Collector, textfmt.Share) + share
	}
	line := fmt.Sprintf("this load takes %s; behind gates %s, turns for %s (evenkeel plan)",
		figures(stock, " replicas", " of the CPU for the collector"),
		figures(gated, "", ""), rangeText(gated.Turns, textfmt.Count))
	if sum.wall > 0 {
		line += fmt.Sprintf("\ncollections ran for %s of the time, so as many requests overlapped one; gated few do",
			textfmt.Share(sum.wall/sum.seconds))
	}
	return line
}

// Text is the plan as a table.
func (p *Plan) Text(st textfmt.Style) string {
	var b strings.Builder
	var facts []string
	if p.Requests > 0 {
		facts = append(facts, textfmt.Count(round(p.Requests))+" requests/s")
	}
	facts = append(facts, textfmt.Bytes(p.AllocRate)+"/s allocated", textfmt.Bytes(p.Live)+" live in each replica")
	if p.Procs > 0 {
		facts = append(facts, textfmt.Plural(p.Procs, "processor")+" each")
	}
	if p.Replicas > 0 {
		facts = append(facts, textfmt.Plural(p.Replicas, "replica"))
	}
	if p.MemoryBytes > 0 {
		facts = append(facts, "up to "+textfmt.Bytes(p.MemoryBytes)+" each")
	}
	facts = append(facts, textfmt.Plural(p.Turns, "turn"))
	fmt.Fprintf(&b, "%s\n\n", strings.Join(facts, ", "))
	t := textfmt.NewTable(1 + len(p.Ways))
	head := []string{""}
	for _, o := range p.Ways {
		head = append(head, o.Way)
	}
	t.Add(st.Bold, head)
	row := func(name string, of func(*outlook.Outlook) string) {
		cells, known := []string{name}, false
		for i := range p.Ways {
			cell := of(&p.Ways[i])
			known = known || cell != "-"
			cells = append(cells, cell)
		}
		if known {
			t.Add(nil, cells)
		}
	}
	row("replicas needed", func(o *outlook.Outlook) string { return rangeText(o.Needed, textfmt.Count) })
	row("memory of one", func(o *outlook.Outlook) string { return rangeText(o.Memory, textfmt.Bytes) })
	row("memory in all", func(o *outlook.Outlook) string { return rangeText(o.MemoryInAll, textfmt.Bytes) })
	row("CPU of a request", func(o *outlook.Outlook) string { return rangeText(o.CPU, secondsText) })
	row("of it the collector", func(o *outlook.Outlook) string { return rangeText(o.Collector, textfmt.Share) })
	row("knee at this load times", func(o *outlook.Outlook) string { return rangeText(o.Headroom, textfmt.Count) })
	row("turns needed", func(o *outlook.Outlook) string { return rangeText(o.Turns, textfmt.Count) })
	row("load of the turns", func(o *outlook.Outlook) string { return rangeText(o.TurnLoad, textfmt.Count) })
	row("longest wait for one", func(o *outlook.Outlook) string { return secondsRange(o.Wait) })
	row("from trigger to hard", func(o *outlook.Outlook) string {
		if o.Spare == 0 {
			return "-"
		}
		return secondsText(o.Spare)
	})
	t.Render(&b)
	if len(p.Notes) > 0 {
		fmt.Fprintln(&b)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "! %s\n", n)
	}
	return b.String()
}

func round(x float64) float64 {
	if x < 10 {
		return x
	}
	return float64(int64(x + 0.5))
}

func rangeText(r outlook.Range, format func(float64) string) string {
	if r.IsZero() {
		return "-"
	}
	low, high := format(r.Low), format(r.High)
	if low == high {
		return low
	}
	if unit := unitOf(high); unit != "" && unit == unitOf(low) {
		low = strings.TrimSuffix(low, unit)
	}
	return low + " to " + high
}

func unitOf(figure string) string {
	if i := strings.LastIndexByte(figure, ' '); i >= 0 {
		return figure[i:]
	}
	if strings.HasSuffix(figure, "%") {
		return "%"
	}
	return ""
}

func secondsText(s float64) string {
	return textfmt.Duration(time.Duration(min(s, 1e9) * float64(time.Second)))
}

func secondsRange(r outlook.Range) string { return rangeText(r, secondsText) }
