package machine

import "testing"

func TestThis(t *testing.T) {
	if m := This(); m.Kernel == "" || m.MemoryBytes == 0 || m.Cores == 0 {
		t.Errorf("%+v", m)
	}
}
