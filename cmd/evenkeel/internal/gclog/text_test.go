package gclog

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/textfmt"
)

func TestSummaryText(t *testing.T) {
	cycle := func(n int64, at time.Duration) gctrace.Cycle { // of 10 ms, 2 of them stopped
		const ms = time.Millisecond
		return gctrace.Cycle{
			N: n, At: at, Procs: 4,
			Wall: gctrace.WallPhases{SweepTermination: ms / 2, Mark: 8 * ms, MarkTermination: 3 * ms / 2},
			CPU: gctrace.CPUPhases{
				SweepTermination: 2 * ms, Assist: 42 * ms, Background: 150 * ms,
				Idle: 500 * ms, MarkTermination: 6 * ms,
			},
			HeapBefore: 20 << 20, HeapAfter: 24 << 20, HeapLive: 10 << 20, Goal: gctrace.Of(int64(20 << 20)),
		}
	}
	cycles := []gctrace.Cycle{ // the second and the third are in the window
		cycle(1, 4900*time.Millisecond), cycle(2, 7*time.Second), cycle(3, 14*time.Second),
		cycle(4, 15100*time.Millisecond),
	}
	s := gctrace.Summarize(slices.Values(cycles), gctrace.Window{From: 5 * time.Second, To: 15 * time.Second})
	s.Forced = gctrace.Of(int64(1))
	golden.Written(t, "gctext.golden.txt", func(b *bytes.Buffer) error {
		return WriteSummary(b, &s, 0, textfmt.Style{})
	})
	golden.Written(t, "gctext-empty.golden.txt", func(b *bytes.Buffer) error {
		return WriteSummary(b, &gctrace.Summary{}, 0, textfmt.Style{})
	})
}
