package ginlog

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

func TestRead(t *testing.T) {
	all, err := Read([]byte(log))
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	cgo, many := all[0], all[1]
	if cgo.Path != "/cgo/62/2" || cgo.Times.Count() != 2 || cgo.Times.Max() < time.Minute || cgo.Times.Quantile(.5) > 250*time.Microsecond {
		t.Errorf("%s: %d, at most %v", cgo.Path, cgo.Times.Count(), cgo.Times.Max())
	}
	if many.Path != "/many/fast" || many.Times.Count() != 1 {
		t.Errorf("%s: %d", many.Path, many.Times.Count())
	}
	if _, err := Read([]byte("[GIN] 2026/11/22 - 10:00:00 | 200 | 12parsecs | 127.0.0.1 | GET \"/\"\n")); err == nil {
		t.Error("a time in a unit that Go does not know was read")
	}
}
