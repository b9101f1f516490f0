package plan

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestPlanOfAStatusPageKnowsCPU: what requests take is what the process has taken without the
// collector's part.
func TestPlanOfAStatusPageKnowsCPU(t *testing.T) {
	for _, c := range []struct {
		cycles uint64 // between two answers
		few    bool
	}{{8, false}, {1, true}, {0, true}} {
		asked := uint64(0)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			process := map[string]any{
				"CPU": 10e9 + asked*500e6, "Collector": asked * c.cycles * 25e6, "Cycles": 3 + asked*c.cycles,
				"Procs": 2,
			}
			json.NewEncoder(w).Encode(map[string]any{
				"State": "serving", "Trigger": 600e6, "Live": 300e6, "Allocated": asked * 50e6, "Entered": asked * 100,
				"Process": process,
			})
		}))
		defer s.Close()
		p, err := ofStatus(t.Context(), s.URL, 50*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if request, want := p.measured/p.Requests,
			(500e-3-float64(c.cycles)*25e-3)/100; request < .999*want || request > 1.001*want || p.Procs != 2 {
			t.Errorf("%d collections: a request takes %g s without the collector, want %g, on %d processors", c.cycles,
				request, want, p.Procs)
		}
		if mark := p.MarkPerByte.Times(300e6); c.cycles > 0 && math.Abs(mark.Low-25e-3) > 1e-9 ||
			c.cycles == 0 && !mark.IsZero() {
			t.Errorf("%d collections: one takes %+v s", c.cycles, mark)
		}
		if few := strings.Contains(strings.Join(p.Notes, "\n"), "watch for longer with -for"); few != c.few {
			t.Errorf("%d collections: %q", c.cycles, p.Notes)
		}
	}
}
