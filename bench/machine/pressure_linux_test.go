package machine

import (
	"testing"
	"time"
)

func TestParsePressure(t *testing.T) {
	const text = "some avg10=97.89 avg60=96.98 avg300=86.40 total=1379337726\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
	if got, err := parsePressure(text); got != 1379337726*time.Microsecond || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "full avg10=0.00 total=7\n", "some avg10=0.00\n"} {
		if got, err := parsePressure(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
