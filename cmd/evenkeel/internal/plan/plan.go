// Package plan computes what replicas need to collect their garbage.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/gcgate/capacity"
	"evenkeel.dev/internal/textfmt"
)

// Options replace values of the source, unless they are zero.
type Options struct {
	Replicas int
	Turns    int
	Memory   cli.ByteSize
	Times    cli.Decimal
	Held     cli.Period
	Watch    cli.Period // to look at a status page
	Label    string
}

// Of plans for a run.json, - for standard input, or the URL of a status page.
func Of(ctx context.Context, source string, o Options) (*Plan, error) {
	p, err := read(ctx, source, &o)
	if err != nil {
		return nil, err
	}
	p.scale(&o)
	p.Ways = lookAhead(p.load, p.limits)
	p.judge()
	return p, nil
}

type Plan struct {
	Source string `json:"source"`
	load
	limits
	HeldMeasured bool      `json:"held_measured"` // or given
	Ways         []Outlook `json:"ways"`
	Notes        []string  `json:"notes,omitempty"`

	measured float64 // CPU of requests per second; 0: not known
}

func (p *Plan) note(format string, a ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, a...)) }

func (p *Plan) scale(f *Options) {
	if f.Replicas > 0 {
		p.Replicas = f.Replicas
	}
	if f.Turns > 0 {
		p.Turns = f.Turns
	}
	p.Turns = cmp.Or(p.Turns, 1)
	if f.Memory > 0 {
		p.Memory = float64(f.Memory)
	}
	times := float64(f.Times)
	if times == 0 {
		times = 1
		if fetch.IsURL(p.Source) {
			times = float64(max(p.Replicas, 1))
		}
	}
	p.Work = workAtKnee(p.measured, float64(max(p.Procs, 1))).Times(times)
	p.Requests *= times
	p.AllocRate *= times
	if f.Held > 0 {
		p.Held = exactly(time.Duration(f.Held).Seconds())
	}
	p.HeldMeasured = !p.Held.IsZero()
}

func read(ctx context.Context, name string, f *Options) (*Plan, error) {
	if fetch.IsURL(name) {
		return ofStatus(ctx, name, time.Duration(f.Watch))
	}
	in, source, err := cli.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return ofRuns(source, in, f.Label)
}

func (p *Plan) judge() {
	for _, o := range p.Ways {
		if o.TooLarge {
			p.note("%v: the heap does not stay below %s, so the runtime would collect without end", o.Way,
				textfmt.Bytes(p.Memory))
		}
		if n := float64(p.Replicas); n > 0 && n < o.Needed.High {
			p.note("%v: the load needs %s replicas to be served without long queues", o.Way,
				rangeText(o.Needed, textfmt.Count))
		}
	}
	gated := p.Ways[Gated]
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

func (p *Plan) Text(st textfmt.Style) string {
	var b strings.Builder
	var facts []string
	if p.Requests > 0 {
		facts = append(facts, textfmt.Count(p.Requests)+" requests/s")
	}
	facts = append(facts, textfmt.Bytes(p.AllocRate)+"/s allocated", textfmt.Bytes(p.Live)+" live in each replica")
	if p.Procs > 0 {
		facts = append(facts, textfmt.Plural(p.Procs, "processor")+" each")
	}
	if p.Replicas > 0 {
		facts = append(facts, textfmt.Plural(p.Replicas, "replica"))
	}
	if p.Memory > 0 {
		facts = append(facts, "up to "+textfmt.Bytes(p.Memory)+" each")
	}
	facts = append(facts, textfmt.Plural(p.Turns, "turn"))
	fmt.Fprintf(&b, "%s\n\n", strings.Join(facts, ", "))
	t := textfmt.NewTable(1 + len(p.Ways))
	head := []string{""}
	for _, o := range p.Ways {
		head = append(head, o.Way)
	}
	t.Add(st.Bold, head)
	row := func(name string, of func(*Outlook) string) {
		cells, known := []string{name}, false
		for i := range p.Ways {
			cell := of(&p.Ways[i])
			known = known || cell != "-"
			cells = append(cells, cell)
		}
		if known {
			t.Row(cells...)
		}
	}
	row("replicas needed", func(o *Outlook) string { return rangeText(o.Needed, textfmt.Count) })
	row("memory of one", func(o *Outlook) string { return rangeText(o.Memory, textfmt.Bytes) })
	row("memory in all", func(o *Outlook) string { return rangeText(o.MemoryInAll, textfmt.Bytes) })
	row("CPU of a request", func(o *Outlook) string { return rangeText(o.CPU, secondsText) })
	row("of it the collector", func(o *Outlook) string { return rangeText(o.Collector, textfmt.Share) })
	row("turns needed", func(o *Outlook) string { return rangeText(o.Turns, textfmt.Count) })
	row("load of the turns", func(o *Outlook) string { return rangeText(o.TurnLoad, textfmt.Count) })
	row("longest wait for one", func(o *Outlook) string { return secondsRange(o.Wait) })
	row("from trigger to hard", func(o *Outlook) string {
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

func rangeText(r Range, format func(float64) string) string {
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

func secondsRange(r Range) string { return rangeText(r, secondsText) }
