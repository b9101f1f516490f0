package traces

import "testing"

func TestWatchMachine(t *testing.T) {
	if b := watchMachine(t.Context())(); b.Steal < 0 || b.Steal > 1 {
		t.Errorf("%+v", b)
	}
}
