package gaio_test

import (
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
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
				read := func(buf []byte) error {
					switch way {
					case "swap buffer":
						return w.Read(nil, here, nil)
					case "deadline":
						return w.ReadFull(nil, here, buf, deadline)
					default:
						return w.Read(nil, here, buf)
					}
				}
				wait := func() ([]byte, error) {
					results, err := w.WaitIO()
					if err != nil || len(results) != 1 {
						t.Fatalf("%v, %v", results, err)
					}
					return results[0].Buffer[:results[0].Size], results[0].Error
				}
				write := func(buf []byte) error { return w.Write(nil, here, buf) }
				if n := aiosuite.EchoAllocates(t, there, read, write, wait); n != 0 {
					t.Errorf("%v allocations an echo, want 0", n)
				}
			})
		}
	})
}
