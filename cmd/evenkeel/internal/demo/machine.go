package demo

import (
	"fmt"
	"runtime"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
)

type machine struct {
	quota          float64 // CPUs; 0: no quota
	others, stolen float64 // largest percentages of the processors
}

func (m *machine) add(d *runfile.Disturbance) {
	if d == nil {
		return
	}
	if x, ok := d.ByOthers(); ok {
		m.others = max(m.others, x)
	}
	if x, ok := d.Stolen(); ok {
		m.stolen = max(m.stolen, x)
	}
}

// String says that in words. "" means a quiet machine.
func (m *machine) String() string {
	var why []string
	if n := runtime.NumCPU(); m.quota > 0 && m.quota < float64(n) {
		why = append(why, fmt.Sprintf("a CPU quota allows %.2g of %s", m.quota, textfmt.Plural(n, "processor")))
	}
	if m.others > 0 {
		why = append(why, fmt.Sprintf("other programs take %.0f%% of the processors", m.others))
	}
	if m.stolen > 0 {
		why = append(why, fmt.Sprintf("the hypervisor takes %.0f%%", m.stolen))
	}
	return strings.Join(why, " and ")
}
