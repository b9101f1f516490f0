package aio_test

import (
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
)

// TestFeatureHighPerformance: in the steady state an operation allocates nothing, whether it
// brings a buffer or none, or a deadline.
func TestFeatureHighPerformance(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, way := range []string{"buffer", "swap buffer", "deadline", "several buffers"} {
			t.Run(way, func(t *testing.T) {
				w := open(t, aio.Options{Backend: b})
				conn, there := attached(t, w)
				deadline := time.Now().Add(time.Hour)
				read := func(buf []byte) error {
					switch way {
					case "swap buffer":
						return conn.Read(nil, nil, none)
					case "deadline":
						return conn.ReadFull(nil, buf, deadline)
					default:
						return conn.Read(nil, buf, none)
					}
				}
				var written []byte
				wait := func() ([]byte, error) {
					results, err := w.WaitIO()
					if err != nil || len(results) != 1 {
						t.Fatalf("%v, %v", results, err)
					}
					r := results[0]
					if r.Buffer == nil {
						r.Buffer = written // of a Writev
					}
					return r.Buffer[:r.Size], r.Error
				}
				write := func(buf []byte) error {
					if way == "several buffers" {
						written = buf
						return conn.Writev(nil, [][]byte{buf[:1], nil, buf[1:]}, none)
					}
					return conn.Write(nil, buf, none)
				}
				if n := aiosuite.EchoAllocates(t, there, read, write, wait); n != 0 {
					t.Errorf("%v allocations an echo, want 0", n)
				}
			})
		}
	})
}
