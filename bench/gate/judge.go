package main

import (
	"errors"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/loadgen"
)

// keep puts what was measured into the raw results.
func (d *driver) keep() {
	if len(d.samples) > 0 {
		d.set.Raw["runs"] = d.samples
	}
	if len(d.idled) > 0 {
		d.set.Raw["idle"] = d.idled
	}
	if len(d.cases) > 0 {
		d.set.Raw["polls"] = d.cases
	}
	if len(d.simulated) > 0 {
		d.set.Raw[simulatedKey] = d.simulated
	}
	if len(d.pushed) > 0 {
		d.set.Raw[literalKey] = d.pushed
	}
}

// judge adds the figures of all parts that the raw results hold, as each part does when it was measured.
func judge(set *figure.Set, raw figure.Recorded) error {
	d := &driver{set: set, out: set.Out}
	var ns map[string][]float64
	var lost int
	errs := []error(nil)
	for key, v := range map[string]any{
		"runs": &d.samples, "idle": &d.idled, "polls": &d.cases, literalKey: &d.pushed, simulatedKey: &d.simulated, enterExitKey: &ns, raftFaults + lostKey: &lost,
	} {
		_, err := raw.Read(key, v)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	d.pairFigures()
	d.singleFigures()
	d.costFigures(ns)
	d.idleFigures()
	d.slowFigures()
	d.pollFigures()
	d.literalFigures()
	d.turnsFigures()
	for _, name := range parts {
		if t, ok := teams[name]; ok {
			d.teamFigures(t)
		}
	}
	for _, x := range []struct{ key, what string }{{"", ""}, {haproxyFaults, behindHAProxy}, {envoyFaults, behindEnvoy}, {raftFaults, toAGroup}} {
		var load *loadgen.Result
		var killed int64
		var faults []fault
		for key, v := range map[string]any{"load": &load, killedKey: &killed, "faults": &faults} {
			if _, err := raw.Read(x.key+key, v); err != nil {
				return err
			}
		}
		if load == nil {
			continue
		}
		if x.key == raftFaults {
			d.lostFigure(lost)
		}
		d.faultFigures(x.what, load, killed)
		d.holderFigure(x.what, faults)
	}
	return nil
}
