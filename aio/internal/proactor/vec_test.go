package proactor

import (
	"bytes"
	"testing"
)

// FuzzVec sends buffers in parts, and holds what Next gives to the bytes that are left.
func FuzzVec(f *testing.F) {
	f.Add([]byte{3, 0, 5, 200, 1}, []byte{1, 2, 9, 255})
	f.Add([]byte{0, 255, 0, 3, 253, 255}, []byte{1})
	f.Add(bytes.Repeat([]byte{1}, 3000), []byte{200, 255, 255})
	f.Fuzz(func(t *testing.T, sizes, parts []byte) {
		var v Vec
		for range 2 { // again, in the same memory
			var bufs [][]byte
			var all []byte
			for i, n := range sizes {
				size := int(n)
				if n > 250 {
					size *= 300 // more than a transfer has
				}
				bufs = append(bufs, bytes.Repeat([]byte{byte(i)}, size))
				all = append(all, bufs[i]...)
			}
			if n := v.Set(bufs); n != len(all) {
				t.Fatalf("%d bytes, want %d", n, len(all))
			}
			clear(bufs) // the caller's slice is the caller's
			sent := 0
			for i := 0; sent < len(all); i++ {
				next, n := v.Next()
				got := bytes.Join(next, nil)
				if n != len(got) || n == 0 || len(next) > maxBuffers || n >= 2*MaxTransfer ||
					!bytes.HasPrefix(all[sent:], got) {
					t.Fatalf("after %d of %d bytes: %d in %d buffers, which says %d", sent, len(all), len(got),
						len(next), n)
				}
				if len(next) < maxBuffers && n < min(len(all)-sent, MaxTransfer) {
					t.Fatalf("after %d of %d bytes: %d in %d buffers, and more would do", sent, len(all), n, len(next))
				}
				part := n
				if i < len(parts) {
					part = min(int(parts[i]), n)
				}
				sent += part
				if over := v.Sent(sent); over != (sent == len(all)) {
					t.Fatalf("after %d of %d bytes it is over: %t", sent, len(all), over)
				}
			}
			v.Clear()
			if v.Tag != nil || len(v.all) > 0 || cap(v.all) > 0 && v.all[:1][0] != nil {
				t.Fatal("it holds what it was cleared of")
			}
		}
	})
}
