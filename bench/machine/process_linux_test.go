package machine

import (
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const line = "123 (a (b) c) S 1 123 123 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 7 0 1000 0 0\n"
	if got, err := parseStat(line); got != 3*time.Second || err != nil {
		t.Errorf("%v, %v, want 3 s", got, err)
	}
	if _, err := parseStat("123 (x) S"); err == nil {
		t.Error("a short line is read")
	}
}
