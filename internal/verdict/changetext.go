package verdict

import (
	"fmt"
	"io"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

const (
	changePlaces  = 10 // functions in a text
	changeClasses = 8
)

// WriteText writes the sentence and its figures. Tables are at most 100 columns wide.
func (c *Change) WriteText(w io.Writer, o Options) error {
	t := newText(o)
	t.wrap("", c.Sentence, t.style.Bold)
	t.wrap("", c.Scope(), t.style.Dim)
	t.sides(c)
	t.changes(c)
	t.changedPlaces(c)
	t.changedClasses(c)
	if len(c.Caveats) > 0 {
		t.line("")
	}
	for _, x := range c.Caveats {
		t.wrap("! ", x, nil)
	}
	_, err := io.WriteString(w, t.out.String())
	return err
}

// Scope says in a line what is compared.
func (c *Change) Scope() string {
	side := func(s *Side) string {
		return fmt.Sprintf("%s: %s, %s in %s", s.Name, textfmt.Plural(s.Traces, "trace"),
			textfmt.Plural(s.Requests, "request"), textfmt.Duration(s.Trace))
	}
	return side(&c.Old) + "; " + side(&c.New)
}

func (t *text) sides(c *Change) {
	t.head(fmt.Sprintf("%-14s%10s  %s", "slowest 1%", "mean", "where the time of its requests went"))
	longest := max(c.Old.Slow.Total(), c.New.Slow.Total(), 1)
	for _, s := range []*Side{&c.Old, &c.New} {
		width := int(float64(mixWidth)*float64(s.Slow.Total())/float64(longest) + .5)
		t.line("%-14s%10s  %s", textfmt.Visible(textfmt.Printable(s.Name), 13), textfmt.Duration(s.Slow.Total()),
			t.mix(s.Slow, width))
	}
	t.legend([]reqtrace.Parts{c.Old.Slow, c.New.Slow})
}

func (t *text) changes(c *Change) {
	// a row has at least this much
	part := func(d Difference) time.Duration { return time.Duration(leastRow * float64(max(d.Old, d.New))) }
	table := textfmt.NewTable(6)
	table.Add(t.style.Bold, []string{
		"what makes the difference", "old", "new", "slowest 1%", "interval",
		"all requests",
	})
	row := func(name string, slow, all Difference, named bool) {
		style := func(s string) string { return s }
		if named {
			style = t.style.Bold
		}
		table.Add(style, []string{
			"  " + name, textfmt.Duration(slow.Old), textfmt.Duration(slow.New),
			textfmt.SignedDuration(slow.More), intervalText(slow), textfmt.SignedDuration(all.More) + " " +
				intervalText(all),
		})
	}
	for i := range c.ByCause {
		x := &c.ByCause[i]
		if max(x.Slow.Old, x.Slow.New, x.Slow.More.Abs()) < part(c.Slow) && x.All.More.Abs() < part(c.All) {
			continue
		}
		row(x.Phrase, x.Slow, x.All, x.Named)
	}
	if slow, all := c.mix(); slow != 0 || all != 0 {
		table.Add(nil, []string{
			"  another mix of classes", "", "", textfmt.SignedDuration(slow), "",
			textfmt.SignedDuration(all),
		})
	}
	row("all, as a mean", c.Slow, c.All, false)
	t.line("")
	table.Render(&t.out)
	t.line("%s", t.style.Dim("  by cause: what requests take beyond the time at which the slowest 1% of both begin"))
}

// mix returns the part of the differences that the number of requests of each class makes.
func (c *Change) mix() (slow, all time.Duration) {
	for i := range c.Classes {
		slow += c.Classes[i].SlowMix.More
		all += c.Classes[i].AllMix.More
	}
	return slow, all
}

func (t *text) changedPlaces(c *Change) {
	n := 0
	for i := range c.Rows {
		x := &c.Rows[i]
		if x.Function == "" || x.Slow.More == 0 || n == changePlaces {
			continue
		}
		if n++; n == 1 {
			t.head("where in the code, of the slowest 1%")
		}
		t.line("  %9s %-22s  %s", textfmt.SignedDuration(x.Slow.More), intervalText(x.Slow),
			textfmt.Printable(x.Words()))
	}
}

func (t *text) changedClasses(c *Change) {
	if len(c.Classes) == 0 {
		return
	}
	table := textfmt.NewTable(5)
	table.Add(t.style.Bold, []string{"class", "of old", "of new", "its time", "its number"})
	for i := range c.Classes[:min(len(c.Classes), changeClasses)] {
		x := &c.Classes[i]
		table.Add(nil, []string{
			"  " + textfmt.Printable(classText(x.Class)), textfmt.Share(x.OldShare), textfmt.Share(x.NewShare),
			textfmt.SignedDuration(x.Slow.More) + " " + intervalText(x.Slow), textfmt.SignedDuration(x.SlowMix.More) +
				" " + intervalText(x.SlowMix),
		})
	}
	t.line("")
	table.Render(&t.out)
}
