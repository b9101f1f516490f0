package runfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/gctrace"
)

// Disturbance is what else the load generator's machine did, on Linux. Shares are of all
// processors' time.
type Disturbance struct {
	Window time.Duration `json:"window_ns"`

	// Service names the commands of the service's processes, or "" if it runs elsewhere.
	Service string `json:"service,omitempty"`

	// Other is without evenkeel, the service and interrupts. It is absent if processes of the
	// service are not known.
	Other gctrace.Value[float64] `json:"other_percent,omitzero"`

	// CPU time, of the service to 10 ms.
	EvenkeelCPU gctrace.Value[time.Duration] `json:"evenkeel_cpu_ns,omitzero"`
	ServiceCPU  gctrace.Value[time.Duration] `json:"service_cpu_ns,omitzero"`

	// Steal is what the hypervisor gave to others.
	Steal gctrace.Value[float64] `json:"steal_percent,omitzero"`
}

// The kernel's clock of 10 ms needs the window.
const (
	disturbedOther  = 3
	disturbedSteal  = 1
	disturbedWindow = time.Second
)

// Taken is processor time that neither evenkeel nor the service had.
type Taken struct {
	By      string
	Percent float64
}

func (t Taken) String() string {
	return fmt.Sprintf("%.0f%% of this machine's processor time went to %s", t.Percent, t.By)
}

// Taken returns what matters. d may be nil.
func (d *Disturbance) Taken() (list []Taken) {
	if d == nil || d.Window < disturbedWindow {
		return nil
	}
	if x, ok := d.Other.Get(); ok && x >= disturbedOther {
		by := "processes other than evenkeel"
		if d.Service != "" {
			by += " and " + d.Service
		}
		list = append(list, Taken{by, x})
	}
	if x, ok := d.Steal.Get(); ok && x >= disturbedSteal {
		list = append(list, Taken{"its hypervisor (steal)", x})
	}
	return list
}

// Watched is where the service of a run is.
type Watched struct {
	Elsewhere bool

	// Processes returns those of the service. Default nil: not known.
	Processes func() []int
}

type Watch struct {
	service Watched
	begin   usage
}

func NewWatch(service Watched) *Watch {
	return &Watch{service, usageOf(service)}
}

// End returns nil if the system does not tell.
func (w *Watch) End() *Disturbance {
	return w.begin.until(usageOf(w.service))
}

// usage counts seconds of a machine's processors since its start.
type usage struct {
	at     time.Time
	busy   float64
	stolen float64
	all    float64
	own    float64 // of busy, by this process

	elsewhere bool
	processes map[int]processUsage
}

type processUsage struct {
	name    string
	started string  // differs between processes with one number
	seconds float64 // with its ended children
}

func (u usage) until(end usage) *Disturbance {
	all := end.all - u.all
	if u.at.IsZero() || end.at.IsZero() || all <= 0 {
		return nil
	}
	d := &Disturbance{Window: end.at.Sub(u.at)}
	percent := func(seconds, of float64) gctrace.Value[float64] {
		return gctrace.Of(min(max(seconds/of*100, 0), 100))
	}
	d.Steal = percent(end.stolen-u.stolen, all)
	d.EvenkeelCPU = cpuTime(end.own - u.own)
	service, known := 0., end.elsewhere
	for pid, p := range end.processes {
		before := u.processes[pid]
		if before.started != p.started {
			before = processUsage{}
		}
		service += p.seconds - before.seconds
		known = true
	}
	if known {
		d.Other = percent(end.busy-u.busy-(end.own-u.own)-service, all)
	}
	if len(end.processes) > 0 {
		d.Service, d.ServiceCPU = names(end.processes), cpuTime(service)
	}
	return d
}

func cpuTime(seconds float64) gctrace.Value[time.Duration] {
	return gctrace.Of(time.Duration(seconds*1e6) * time.Microsecond)
}

func names(processes map[int]processUsage) string {
	list := map[string]bool{}
	for _, p := range processes {
		list[p.name] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(list)), ", ")
}
