package gaio_test

import (
	"io"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
)

// TestNoAllocations: in the steady state an operation allocates nothing here either, whether it
// brings a buffer or none, or a deadline.
func TestNoAllocations(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, way := range []string{"buffer", "swap buffer", "deadline"} {
			t.Run(way, func(t *testing.T) {
				w := open(t, aio.Options{Backend: b})
				here, there := pair(t)
				deadline := time.Now().Add(time.Hour)
				message, answer, buf := make([]byte, 64), make([]byte, 64), make([]byte, 64)
				one := func() gaio.OpResult {
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
						err = w.Read(nil, here, nil)
					case "deadline":
						err = w.ReadFull(nil, here, buf, deadline)
					default:
						err = w.Read(nil, here, buf)
					}
					must(t, err)
					copy(buf, one().Buffer)
					must(t, w.Write(nil, here, buf))
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
