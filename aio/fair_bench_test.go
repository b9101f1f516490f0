//go:build unix

package aio_test

import (
	"fmt"
	"net"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
)

// BenchmarkSwapReads counts the reads without a buffer that a message takes when one has come on each connection and
// all share the default swap buffer: 1 at best. What finds it full waits for the next WaitIO.
func BenchmarkSwapReads(b *testing.B) {
	const size = 1000
	for _, backend := range aiosuite.Backends() {
		for _, conns := range []int{500, 2000} {
			b.Run(fmt.Sprintf("%v/%d", backend, conns), func(b *testing.B) {
				needDescriptors(b, 2*conns)
				w := open(b, aio.Options{Backend: backend})
				peers := make([]net.Conn, conns)
				left := make([]int, conns)
				for i := range peers {
					var conn *aio.Conn
					conn, peers[i] = attached(b, w)
					must(b, conn.Read(i, nil, none))
				}
				before := w.Stats()
				waits := 0
				b.ResetTimer()
				for range b.N {
					for i, p := range peers {
						_, err := p.Write(make([]byte, size))
						must(b, err)
						left[i] = size
					}
					for n := conns; n > 0; waits++ {
						results, err := w.WaitIO()
						must(b, err)
						for _, r := range results {
							must(b, r.Error)
							i := r.Tag.(int)
							if left[i] -= r.Size; left[i] == 0 {
								n--
							}
							must(b, r.Conn.Read(i, nil, none))
						}
					}
				}
				s := w.Stats()
				messages := float64(b.N * conns)
				b.ReportMetric(float64(s.Results-before.Results)/messages, "reads/message")
				b.ReportMetric(float64(s.SwapFull-before.SwapFull)/messages, "full/message")
				b.ReportMetric(float64(s.Polls-before.Polls)/messages, "polls/message")
				b.ReportMetric(messages/float64(waits), "messages/WaitIO")
			})
		}
	}
}
