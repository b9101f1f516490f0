package aio_test

import (
	"io"
	"net"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// TestFeatureHighPerformance: in the steady state an operation allocates nothing, whether it
// names the net.Conn, a handle, or no buffer.
func TestFeatureHighPerformance(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, way := range []string{"net.Conn", "handle", "swap buffer", "deadline"} {
			t.Run(way, func(t *testing.T) {
				w := open(t, aio.Options{Backend: b})
				here, there := pair(t)
				deadline := time.Now().Add(time.Hour)
				var conn net.Conn = here
				if way == "handle" {
					c, err := w.Attach(here)
					must(t, err)
					conn = c
				}
				message, answer, buf := make([]byte, 64), make([]byte, 64), make([]byte, 64)
				one := func() aio.OpResult {
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
						err = w.Read(nil, conn, nil)
					case "deadline":
						err = w.ReadFull(nil, conn, buf, deadline)
					default:
						err = w.Read(nil, conn, buf)
					}
					must(t, err)
					copy(buf, one().Buffer)
					must(t, w.Write(nil, conn, buf))
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
