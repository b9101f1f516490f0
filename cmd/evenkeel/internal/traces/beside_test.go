package traces

import "testing"

func TestWatchMachine(t *testing.T) {
	if got := parseSteal("cpu  10 0 5 80 1 0 2 2 7 0\ncpu0 1 1 1 1 1 1 1 1\n"); got != (ticks{2, 100}) {
		t.Errorf("%+v", got)
	}
	if got := parseSteal("intr 7"); got != (ticks{}) {
		t.Errorf("%+v", got)
	}
	if b := watchMachine(t.Context())(); b.Steal < 0 || b.Steal > 1 {
		t.Errorf("%+v", b)
	}
	for at, want := range map[string]bool{
		"http://127.0.0.1:1/trace": true, "http://[::1]:1/trace": true,
		"http://localhost/trace": true, "http://192.0.2.1/trace": false, "http://h/trace": false,
	} {
		if (&endpoint{url: at}).local() != want {
			t.Errorf("%s: local is %v", at, !want)
		}
	}
}
