package compare

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// TestFloor has a floor above a change that is certain, which is not coloured then, and one below
// it.
func TestFloor(t *testing.T) {
	f := &runfile.File{Runs: slices.Concat(noisy(t, "a", 10, 1), noisy(t, "bb", 10, 1.5))}
	for _, tt := range []struct {
		name  string
		slow  []float64 // of the second by round, again and again
		color bool
	}{{"quiet", []float64{1, .99, 1.01}, true}, {"loud", []float64{1, 3, .3, 8, .1}, false}} {
		floor := &runfile.Floor{First: noisy(t, "x", 10, 1)}
		var second [][]runfile.Run
		for _, slow := range tt.slow {
			second = append(second, noisy(t, "y", 10, slow))
		}
		for i := range 10 {
			floor.Second = append(floor.Second, second[i%len(second)][i])
		}
		f.Floor = floor
		c := Files([]*runfile.File{f}, []string{"run.json"})
		row := c.Row("p99")
		if v := row.Result(1).Verdict; v != tailstat.VerdictSlower || (row.Shown(1) == v) != tt.color || !c.HasFloor() {
			t.Errorf("%s: %s, shown as %s; floor %s", tt.name, v, row.Shown(1), row.FloorText())
		}
		var b bytes.Buffer
		if err := c.Text(&b, textfmt.Style{Color: true}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "\x1b[31m"); got != tt.color {
			t.Errorf("%s: red in it: %v\n%s", tt.name, got, b.String())
		}
		if tt.color {
			golden.Written(t, "floor.golden.txt", func(b *bytes.Buffer) error { return c.Text(b, textfmt.Style{}) })
		}
	}
}

func TestSpoilt(t *testing.T) {
	r := &runfile.Run{Load: &loadgen.Result{}}
	if got := Spoilt(r); got != "" {
		t.Error(got)
	}
	r.Disturbance = &runfile.Disturbance{Window: 10 * time.Second, Other: gctrace.Of(31.2), Steal: gctrace.Of(4.)}
	if got := Spoilt(r); got != "31% of the processors' time went to other programs, 4% was taken by the hypervisor" {
		t.Error(got)
	}
	r = &runfile.Run{Load: &loadgen.Result{Rate: 100, Answered: 1000, Late: 500}} // the service kept the connections
	r.Load.Pacer.RecordN(50*time.Microsecond, 995)
	r.Load.Pacer.RecordN(3*time.Millisecond, 5)
	if got := Spoilt(r); got != "" {
		t.Errorf("late with one request in 200: %s", got)
	}
	r.Load.Pacer.RecordN(3*time.Millisecond, 6)
	if got := Spoilt(r); got != "the load generator itself was late with 1% of the requests, by 3.00 ms and more" {
		t.Error(got)
	}
}
