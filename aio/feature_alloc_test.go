package aio_test

import (
	"io"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// TestFeatureHighPerformance: in the steady state an operation allocates nothing, whether it
// brings a buffer or none, or a deadline.
func TestFeatureHighPerformance(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, way := range []string{"buffer", "swap buffer", "deadline"} {
			t.Run(way, func(t *testing.T) {
				w := open(t, aio.Options{Backend: b})
				conn, there := attached(t, w)
				deadline := time.Now().Add(time.Hour)
				message, answer, buf := make([]byte, 64), make([]byte, 64), make([]byte, 64)
				one := func() aio.Result {
					results, err := w.WaitIO()
					if err != nil || len(results) != 1 || results[0].Size != len(message) || results[0].Error != nil {
						t.Fatalf("%v, %v", results, err)
					}
					return results[0]
				}
				turn := func() {
					if _, err := there.Write(message); err != nil {
						t.Fatal(err)
					}
					var err error
					switch way {
					case "swap buffer":
						err = conn.Read(nil, nil, none)
					case "deadline":
						err = conn.ReadFull(nil, buf, deadline)
					default:
						err = conn.Read(nil, buf, none)
					}
					must(t, err)
					copy(buf, one().Buffer)
					must(t, conn.Write(nil, buf, none))
					one()
					if _, err := io.ReadFull(there, answer); err != nil {
						t.Fatal(err)
					}
				}
				for range 100 {
					turn()
				}
				if n := testing.AllocsPerRun(200, turn); n != 0 {
					t.Errorf("%v allocations an echo, want 0", n)
				}
			})
		}
	})
}
