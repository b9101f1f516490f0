package gaio_test

import (
	"bytes"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
)

// TestConventionMessagesWhole: a read without a buffer returns what has come, and does not end where a part of
// the swap buffer does.
func TestConventionMessagesWhole(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, there := pair(t)
		arrived := aiosuite.Arrival(t, here)
		for _, size := range []int{100, 1000, 4000, 8000, 30_000} {
			short := 0
			for i := range 200 {
				data := bytes.Repeat([]byte{byte(i), byte(i >> 1), 7}, size)[:size]
				_, err := there.Write(data)
				must(t, err)
				arrived(size)
				must(t, w.Read(nil, here, nil))
				r := only(t, w)
				if r.Error != nil || !r.IsSwapBuffer || !bytes.HasPrefix(data, r.Buffer) {
					t.Fatalf("%d bytes: read %d, %v, swap %t", size, r.Size, r.Error, r.IsSwapBuffer)
				}
				if r.Size == size {
					continue
				}
				short++
				rest := make([]byte, size-r.Size)
				must(t, w.ReadFull(nil, here, rest, time.Time{}))
				must(t, only(t, w).Error)
			}
			if short > 0 {
				t.Errorf("%d bytes: %d of 200 reads ended short", size, short)
			}
		}
	})
}
