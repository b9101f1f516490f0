package cli

import (
	"strings"
	"testing"
)

func TestByteSize(t *testing.T) {
	for text, want := range map[string]ByteSize{
		"1": 1, "900MiB": 900 << 20, "2GiB": 2 << 30, "1.5kB": 1500,
		"3TB": 3e12, "12B": 12,
	} {
		var got ByteSize
		if err := got.Set(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-5", "5 MiB", "5Mi", "MiB", "NaN", "1e30", "5PiB"} {
		if err := new(ByteSize).Set(text); err == nil || !strings.Contains(err.Error(), "2GiB") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
