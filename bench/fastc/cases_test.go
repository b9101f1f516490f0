//go:build linux

package fastc

import (
	"testing"
	"time"
)

const log = `time=2026-11-22T10:00:00Z level=INFO msg=listening url=http://127.0.0.1:8080
[GIN] 2026/11/22 - 10:00:01 | 200 |     241.533µs |       127.0.0.1 | GET      "/cgo/62/2"
[GIN] 2026/11/22 - 10:00:01 | 200 |    1.2031485s |       127.0.0.1 | GET      "/many/fast"
[GIN] 2026/11/22 - 10:00:01 | 404 |           9ns |       127.0.0.1 | GET      "/cgo/62/2"
[GIN] 2026/11/22 - 10:00:02 | 200 |          1m2s |             ::1 | POST     "/cgo/62/2"
[GIN] 2026/11/22 - 10:00`

func TestHandlers(t *testing.T) {
	times, err := handlers([]byte(log), "/cgo/62/2")
	if err != nil || times.Count() != 2 || times.Max() < time.Minute || times.Quantile(.5) > 250*time.Microsecond {
		t.Errorf("%d, at most %v, %v", times.Count(), times.Max(), err)
	}
	const odd = `[GIN] 2026/11/22 - 10:00:00 | 200 | 12parsecs | 127.0.0.1 | GET "/"`
	if _, err := handlers([]byte(odd), "/"); err == nil {
		t.Error("a time in a unit that Go does not know was read")
	}
}
