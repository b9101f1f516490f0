package emit

import (
	"testing"
	"time"
)

func TestGoDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		300 * time.Microsecond: "300 * time.Microsecond", time.Second: "time.Second",
		1500 * time.Millisecond: "1500 * time.Millisecond",
		1:                       "1 * time.Nanosecond", 1001: "1001 * time.Nanosecond",
	} {
		if got := goDuration(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
