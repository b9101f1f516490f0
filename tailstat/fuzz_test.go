package tailstat

import (
	"encoding/binary"
	"math"
	"testing"
)

// FuzzCompare compares runs of any numbers: an error, or an interval around the ratio that agrees with the verdict.
func FuzzCompare(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), uint8(2), true, uint8(0))
	f.Add(make([]byte, 160), uint8(10), true, uint8(20))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255}, uint8(1), false, uint8(3))
	f.Fuzz(func(t *testing.T, raw []byte, split uint8, paired bool, rounds uint8) {
		var runs []Run
		for i := 0; i+8 <= len(raw) && i < 8*64; i += 8 {
			runs = append(runs, Run{Throughput: math.Float64frombits(binary.LittleEndian.Uint64(raw[i:]))})
		}
		n := min(int(split), len(runs))
		base, head := runs[:n], runs[n:]
		if paired {
			head = head[:min(len(head), n)]
			for i := range base {
				base[i].Round = i + 1
			}
			for i := range head {
				head[i].Round = i + 1
			}
		}
		c, err := Compare(base, head, Options{
			// each other number takes its draws
			Figures: []Figure{{"x", true, func(r *Run) (float64, error) { return r.Throughput, nil }}},
			Rounds:  10 * (int(rounds) % 3),
		})
		if err != nil {
			return
		}
		r := c.Result[0]
		if r.Missing != "" {
			return
		}
		tolerant := Interval{r.Within.Low * (1 - 1e-9), r.Within.High * (1 + 1e-9)}
		if !tolerant.Contains(r.Ratio) || !(r.P >= 0 && r.P <= 1) ||
			r.Within.Contains(1) != (r.Verdict == VerdictInconclusive) {
			t.Errorf("%+v", r)
		}
		if x, ok := r.Detectable(); ok && !(x >= 1) {
			t.Errorf("%v can be shown", x)
		}
	})
}
